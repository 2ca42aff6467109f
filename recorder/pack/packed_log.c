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
    if (!force)
        return error_set(err, ERROR_EXISTS, "'%s' exists; --force replaces it", path);
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
        return error_set(err, ERROR_EXISTS, "'%s' is not a regular file; choose another name",
                         path);
    if (access(path, F_OK) == 0 && !is_ours(path)) /* a link may be dangling */
        return error_set(err, ERROR_EXISTS,
                         "'%s' exists and is not a log of mtrace; choose another name or remove it",
                         path);
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

static int write_at(struct packed_log *log, int fd, const void *bytes, size_t n_bytes,
                    int64_t offset, struct error *err)
{
    int failure;

    lock(log);
    failure = file_io_write(fd, bytes, n_bytes, (uint64_t)offset, NULL);
    log->is_failing = failure != 0;
    return failure ? error_set_errno(err, failure, "cannot write '%s'", log->path) : 0;
}

int packed_log_write_header(struct packed_log *log, const struct log_file *file, struct error *err)
{
    _Alignas(struct log_file) uint8_t page[LOG_FILE_HEADER_BYTES] = {0};
    const uint32_t form = LOG_FORM_PACKED;

    memcpy(page, file, sizeof(*file));
    memcpy(page + offsetof(struct log_file, form), &form, sizeof(form));
    uint32_t flags = file->flags | log->added_flags;
    memcpy(page + offsetof(struct log_file, flags), &flags, sizeof(flags));
    memcpy(page, LOG_MAGIC, sizeof(file->magic));
    int code = write_at(log, log->fd, page, sizeof(page), 0, err);
    return code || !log->rotates ? code
                                 : write_at(log, log->fd, LOG_ROTATED_MAGIC,
                                            sizeof(LOG_ROTATED_MAGIC) - 1, sizeof(page), err);
}

/* mtrace-send removes rotated files, so there may be less than known. */
static bool is_full(struct packed_log *log, size_t n_bytes)
{
    if (!log->max_bytes || log->there_bytes + n_bytes <= log->max_bytes)
        return false;
    log->there_bytes = log_rotation_run_bytes(log->path);
    return log->there_bytes + n_bytes > log->max_bytes;
}

static int open_rotated(const struct packed_log *log, uint32_t number, int flags, struct error *err)
{
    char *name = log_rotation_name(log->path, number);
    int fd = name ? open(name, O_RDWR | O_CLOEXEC | flags, 0600) : -1;

    if (fd < 0)
        (void)error_set_errno(err, errno, "cannot open '%s'", name ? name : log->path);
    free(name);
    return fd;
}

static int begin_rotated(struct packed_log *log, struct error *err)
{
    uint8_t page[LOG_FILE_HEADER_BYTES];
    struct log_file file;
    int fd;
    int code;

    if (pread(log->fd, page, sizeof(page), 0) != sizeof(page))
        return error_set_errno(err, EIO, "cannot read '%s'", log->path);
    memcpy(&file, page, sizeof(file));
    file.flags |= LOG_FLAG_RING;
    memcpy(page, &file, sizeof(file));
    memcpy(page + LOG_ROTATED_BEGIN_AT, &log->end_offset, sizeof(log->end_offset));
    /* a file without a header is left of a failed write */
    fd = open_rotated(log, log->n_rotated + 1, O_CREAT | O_TRUNC | O_NOFOLLOW, err);
    if (fd < 0)
        return ERROR_IO;
    code = write_at(log, fd, page, sizeof(page), 0, err);
    if (code) {
        close(fd);
        return code;
    }
    if (log->n_rotated)
        close(log->rotated_fd);
    log->rotated_fd = fd;
    log->rotated_begin = log->end_offset;
    log->n_rotated++;
    log->there_bytes += sizeof(page);
    return 0;
}

int packed_log_resume(const char *path, uint32_t n_rotated, int64_t begin, int64_t end,
                      struct packed_log *ret_log, struct error *err)
{
    struct packed_log log = {.path = strdup(path),
                             .end_offset = end,
                             .fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW),
                             .rotates = true,
                             .n_rotated = n_rotated,
                             .rotated_begin = begin};
    int code = 0;

    if (!log.path || log.fd < 0)
        code = error_set_errno(err, errno, "cannot open '%s'", path);
    if (code == 0 && n_rotated && (log.rotated_fd = open_rotated(&log, n_rotated, 0, err)) < 0) {
        log.n_rotated = 0;
        code = ERROR_IO;
    }
    *ret_log = log;
    return code;
}

int packed_log_append(struct packed_log *log, const void *frame, size_t n_bytes, struct error *err)
{
    int code;

    log->is_full = is_full(log, n_bytes);
    if (log->is_full)
        return error_set(err, ERROR_IO,
                         "'%s' has as much that was not sent as it may have (--max-local)",
                         log->path);
    if (!log->rotates) {
        code = write_at(log, log->fd, frame, n_bytes, log->end_offset, err);
    } else {
        code = log->n_rotated && log->end_offset - log->rotated_begin < ROTATED_BYTES
                   ? 0
                   : begin_rotated(log, err);
        if (code == 0)
            code = write_at(log, log->rotated_fd, frame, n_bytes,
                            log->end_offset - log->rotated_begin + LOG_FILE_HEADER_BYTES, err);
    }
    if (code == 0) {
        log->end_offset += (int64_t)n_bytes;
        log->there_bytes += n_bytes;
    }
    return code;
}

/* Truncates a partial frame. A file without a header becomes empty: one of zeros would not be
 * recognized as a log. */
static void cut(int fd, int64_t end)
{
    struct stat status;

    if (fstat(fd, &status) == 0 && status.st_size > end)
        (void)!ftruncate(fd, end);
}

void packed_log_close(struct packed_log *log)
{
    if (log->fd >= 0) {
        if (log->is_failing)
            cut(log->n_rotated ? log->rotated_fd : log->fd,
                log->end_offset - log->rotated_begin
                    + (log->n_rotated ? LOG_FILE_HEADER_BYTES : 0));
        if (log->n_rotated)
            close(log->rotated_fd);
        close(log->fd);
    }
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
