/* SPDX-License-Identifier: MIT */
#include "recorder/pack/packed_log.h"

#include "lib/base/file_io.h"
#include "lib/logfile/log_rotation.h"
#include "lib/process/writer_liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ROTATED_BYTES = 2 << 20 /* a rotated file is complete from this size on */
};

/* A log, or the start of one: an empty file, or a part of the header. */
static bool is_ours(const char *path)
{
    char magic[sizeof(LOG_MAGIC) - 1];
    int fd = writer_liveness_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, magic, sizeof(magic), 0) : -1;

    if (fd >= 0)
        close(fd);
    return n == 0 || (n == sizeof(magic) && memcmp(magic, LOG_MAGIC, sizeof(magic)) == 0);
}

bool packed_log_is_begun(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && (status.st_size >= LOG_FILE_HEADER_BYTES || !is_ours(path));
}

int packed_log_check_target(const char *path, bool force, struct error *err)
{
    struct stat status;

    if (lstat(path, &status) != 0)
        return 0;
    if (file_lock_is_taken(path))
        return error_set(err, ERROR_EXISTS, "'%s' is being recorded right now; choose another name",
                         path);
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
        return error_set(err, ERROR_EXISTS, "'%s' is not a regular file; choose another name",
                         path);
    if (access(path, F_OK) == 0 && !is_ours(path)) /* a link may be dangling */
        return error_set(err, ERROR_EXISTS,
                         "'%s' exists and is not a log of mtrace; choose another name or remove it",
                         path);
    if (!force)
        return error_set(err, ERROR_EXISTS, "'%s' exists; --force replaces it", path);
    return 0;
}

/* With force: unlinks the old file, so that its readers keep it. */
static int make_room(const char *path, bool force, struct error *err)
{
    int code = packed_log_check_target(path, force, err);

    if (code == 0 && unlink(path) != 0 && errno != ENOENT)
        code = error_set_errno(err, errno, "cannot replace '%s'", path);
    return code;
}

/* PL-2 */
static void lock(struct packed_log *log)
{
    log->is_locked = log->is_locked || file_lock_take(log->fd);
}

int packed_log_create(const char *path, bool force, struct packed_log *ret_log, struct error *err)
{
    struct packed_log log = {.path = strdup(path), .end_offset = LOG_FILE_HEADER_BYTES, .fd = -1};
    int code = make_room(path, force, err);

    if (code == 0 && !log.path)
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    if (code == 0) {
        log.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (log.fd < 0)
            code = error_set_errno(err, errno, "cannot make '%s'", path);
    }
    if (code) {
        free(log.path);
        return code;
    }
    lock(&log);
    *ret_log = log;
    return 0;
}

static int write_at(struct packed_log *log, const void *bytes, size_t n_bytes, int64_t offset,
                    struct error *err)
{
    int failure;

    lock(log);
    failure = file_io_write(log->fd, bytes, n_bytes, (uint64_t)offset, NULL);
    log->is_failing = failure != 0;
    return failure ? error_set_errno(err, failure, "cannot write '%s'", log->path) : 0;
}

int packed_log_write_header(struct packed_log *log, const struct log_header *file,
                            struct error *err)
{
    _Alignas(struct log_header) uint8_t page[LOG_FILE_HEADER_BYTES] = {0};
    const uint32_t form = LOG_FORM_PACKED;

    memcpy(page, file, sizeof(*file));
    memcpy(page + offsetof(struct log_header, form), &form, sizeof(form));
    uint32_t flags = file->flags | log->added_flags;
    memcpy(page + offsetof(struct log_header, flags), &flags, sizeof(flags));
    memcpy(page, LOG_MAGIC, sizeof(file->magic));
    if (log->begin) /* in one write: mtrace-send may read it now */
        memcpy(page + LOG_ROTATED_BEGIN_AT, &log->begin, sizeof(log->begin));
    int code = write_at(log, page, sizeof(page), 0, err);
    return code || !log->rotates
               ? code
               : write_at(log, LOG_ROTATED_MAGIC, sizeof(LOG_ROTATED_MAGIC) - 1, sizeof(page), err);
}

/* mtrace-send removes rotated files, so there may be less than known. */
static bool is_full(struct packed_log *log, size_t n_bytes)
{
    if (!log->max_bytes || log->there_bytes + n_bytes <= log->max_bytes)
        return false;
    log->there_bytes = log_rotation_run_bytes(log->path);
    return log->there_bytes + n_bytes > log->max_bytes;
}

static int begin_rotated(struct packed_log *log, struct error *err)
{
    char *name = log_rotation_name(log->path, log->n_rotated + 1);
    struct packed_log *next = calloc(1, sizeof(*next));
    struct log_header file;
    int code = name && next ? packed_log_create(name, true, next, err)
                            : error_set(err, ERROR_NOMEM, "not enough memory");

    free(name);
    if (code == 0) {
        next->added_flags = LOG_FLAG_BOUNDED;
        next->begin = log->end_offset;
        code = pread(log->fd, &file, sizeof(file), 0) == sizeof(file)
                   ? packed_log_write_header(next, &file, err)
                   : error_set_errno(err, EIO, "cannot read '%s'", log->path);
        if (code) {
            packed_log_remove(next);
            packed_log_close(next);
        }
    }
    if (code) {
        free(next);
        return code;
    }
    if (log->rotated)
        packed_log_close(log->rotated);
    free(log->rotated);
    log->rotated = next;
    log->n_rotated++;
    log->there_bytes += LOG_FILE_HEADER_BYTES;
    return 0;
}

static int open_existing(char *path, int64_t end, struct packed_log *ret_log, struct error *err)
{
    *ret_log = (struct packed_log){
        .path = path,
        .end_offset = end,
        .fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1,
    };
    return ret_log->fd >= 0 ? 0 : error_set_errno(err, errno, "cannot open '%s'", path ? path : "");
}

int packed_log_resume(const char *path, uint32_t n_rotated, int64_t begin, int64_t end,
                      struct packed_log *ret_log, struct error *err)
{
    int code = open_existing(strdup(path), end, ret_log, err);

    ret_log->rotates = true;
    ret_log->n_rotated = n_rotated;
    if (code || n_rotated == 0)
        return code;
    ret_log->rotated = calloc(1, sizeof(*ret_log->rotated));
    if (!ret_log->rotated)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    return open_existing(log_rotation_name(path, n_rotated), end - begin + LOG_FILE_HEADER_BYTES,
                         ret_log->rotated, err);
}

int packed_log_append(struct packed_log *log, const void *frame, size_t n_bytes, struct error *err)
{
    int code;

    log->is_full = is_full(log, n_bytes);
    if (log->is_full)
        return error_set(err, ERROR_IO,
                         "'%s' has reached --max-local: too many of its bytes are not sent yet",
                         log->path);
    if (!log->rotates) {
        code = write_at(log, frame, n_bytes, log->end_offset, err);
    } else {
        code =
            log->rotated && log->rotated->end_offset < ROTATED_BYTES ? 0 : begin_rotated(log, err);
        code = code ? code : packed_log_append(log->rotated, frame, n_bytes, err);
    }
    if (code == 0) {
        log->end_offset += (int64_t)n_bytes;
        log->there_bytes += n_bytes;
    }
    return code;
}

/* Truncates a partial frame. A file without a header becomes empty: one of zeros would not be
 * recognized as a log. */
static void cut(const struct packed_log *log)
{
    struct stat status;

    if (fstat(log->fd, &status) == 0 && status.st_size > log->end_offset)
        (void)!ftruncate(log->fd, log->end_offset);
}

void packed_log_close(struct packed_log *log)
{
    if (log->fd >= 0) {
        if (log->is_failing)
            cut(log);
        close(log->fd);
    }
    if (log->rotated)
        packed_log_close(log->rotated);
    free(log->rotated);
    free(log->path);
    *log = (struct packed_log){.fd = -1};
}

int packed_log_rename(struct packed_log *log, const char *path, struct error *err)
{
    char *copy = strdup(path);

    if (!copy)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    if (rename(log->path, path) != 0) {
        free(copy);
        return error_set_errno(err, errno, "cannot replace '%s'", path);
    }
    free(log->path);
    log->path = copy;
    return 0;
}

void packed_log_remove(const struct packed_log *log)
{
    if (log->rotates)
        log_rotation_remove(log->path);
    unlink(log->path);
}
