/* SPDX-License-Identifier: MIT */
#include "remote/sender/log_tail.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/file_io.h"
#include "lib/logfile/definition_parts.h"
#include "lib/logfile/log_header.h"
#include "lib/logfile/log_rotation.h"
#include "lib/logfile/pack.h"
#include "remote/wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

int log_tail_open(const char *path, struct log_tail *ret_tail, struct error *err)
{
    struct stat status;
    int fd;
    int code = file_io_open_regular(path, ERROR_FORMAT, &fd, &status, err);

    if (code)
        return code;
    *ret_tail = (struct log_tail){.fd = fd,
                                  .begin = LOG_FILE_HEADER_BYTES,
                                  .end = LOG_FILE_HEADER_BYTES,
                                  .path = strdup(path),
                                  .device = status.st_dev,
                                  .inode = status.st_ino};
    if (ret_tail->path)
        return 0;
    log_tail_close(ret_tail);
    return error_set(err, ERROR_NOMEM, "not enough memory");
}

void log_tail_close(struct log_tail *tail)
{
    if (tail->open_number)
        close(tail->open_fd);
    if (tail->fd >= 0)
        close(tail->fd);
    free(tail->files);
    free(tail->path);
    tail->fd = -1;
    tail->open_number = 0;
    tail->files = NULL;
    tail->path = NULL;
    tail->n_files = tail->capacity = 0;
}

static void close_file(struct log_tail *tail)
{
    if (tail->open_number)
        close(tail->open_fd);
    tail->open_number = 0;
}

static bool open_file(struct log_tail *tail, uint32_t number)
{
    struct stat status;
    char *name;

    if (tail->open_number == number)
        return true;
    close_file(tail);
    name = log_rotation_name(tail->path, number);
    tail->open_fd = -1;
    if (name)
        file_io_open_regular_foreign(name, &tail->open_fd, &status);
    free(name);
    tail->open_number = tail->open_fd >= 0 ? number : 0;
    return tail->open_fd >= 0;
}

/* False: it has no header yet, or is of another recording. */
static bool look_at_file(struct log_tail *tail, uint32_t number, struct log_tail_file *ret_file)
{
    struct log_header ours;
    struct log_header its;

    ret_file->number = number;
    return open_file(tail, number) && pread(tail->fd, &ours, sizeof(ours), 0) == sizeof(ours)
           && pread(tail->open_fd, &its, sizeof(its), 0) == sizeof(its) && its.run_id == ours.run_id
           && pread(tail->open_fd, &ret_file->begin, sizeof(ret_file->begin), LOG_ROTATED_BEGIN_AT)
                  == sizeof(ret_file->begin)
           && ret_file->begin >= LOG_FILE_HEADER_BYTES;
}

/* The recorder writes the mark after the header page, before the first frame. */
static bool is_rotated(const struct log_tail *tail)
{
    char mark[sizeof(LOG_ROTATED_MAGIC) - 1];
    ssize_t n = pread(tail->fd, mark, sizeof(mark), LOG_FILE_HEADER_BYTES);

    return n > 0 && log_header_is_rotated(mark, (size_t)n);
}

static void find_files(struct log_tail *tail)
{
    uint32_t last = tail->n_files ? tail->files[tail->n_files - 1].number : 0;
    struct log_rotation rotation = {0};
    struct log_tail_file file;

    if (log_rotation_find(tail->path, &rotation) != 0)
        return;
    for (size_t i = 0; i < rotation.n; i++) {
        struct log_tail_file *files;
        if (rotation.numbers[i] <= last)
            continue;
        files =
            dynamic_array_reserve(tail->files, &tail->capacity, tail->n_files + 1, sizeof(*files));
        if (!files)
            break;
        tail->files = files;
        if (!look_at_file(tail, rotation.numbers[i], &file)) {
            close_file(tail); /* the recorder may make another one of this name */
            break;
        }
        files[tail->n_files++] = file;
    }
    log_rotation_done(&rotation);
    if (tail->n_files)
        tail->begin = tail->files[0].begin;
    if (tail->end < tail->begin)
        tail->end = tail->begin;
}

/* The end of the last file, with what a failed write left. */
static uint64_t size_of(struct log_tail *tail)
{
    const struct log_tail_file *last = tail->n_files ? &tail->files[tail->n_files - 1] : NULL;
    struct stat status;

    if (tail->is_rotated && (!last || !open_file(tail, last->number)))
        return tail->end;
    if (fstat(last ? tail->open_fd : tail->fd, &status) != 0)
        return tail->end;
    return (uint64_t)status.st_size + (last ? last->begin - LOG_FILE_HEADER_BYTES : 0);
}

ssize_t log_tail_read(struct log_tail *tail, void *bytes, size_t n_bytes, uint64_t offset)
{
    size_t i = tail->n_files;

    if (!tail->is_rotated || offset < LOG_FILE_HEADER_BYTES)
        return pread(tail->fd, bytes, n_bytes, (off_t)offset);
    while (i > 0 && tail->files[i - 1].begin > offset)
        i--;
    if (i == 0 || !open_file(tail, tail->files[i - 1].number))
        return 0;
    if (i < tail->n_files && n_bytes > tail->files[i].begin - offset)
        n_bytes = tail->files[i].begin - offset;
    return pread(tail->open_fd, bytes, n_bytes,
                 (off_t)(offset - tail->files[i - 1].begin + LOG_FILE_HEADER_BYTES));
}

uint64_t log_tail_removable_at(const struct log_tail *tail)
{
    return tail->n_files > 1 ? tail->files[1].begin + WIRE_HASHED_BYTES : UINT64_MAX;
}

void log_tail_remove(struct log_tail *tail, uint64_t synced)
{
    while (log_tail_removable_at(tail) <= synced) {
        char *name = log_rotation_name(tail->path, tail->files[0].number);
        if (!name || (unlink(name) != 0 && errno != ENOENT)) {
            free(name);
            return;
        }
        free(name);
        tail->n_files--;
        memmove(tail->files, tail->files + 1, tail->n_files * sizeof(*tail->files));
        tail->begin = tail->files[0].begin;
    }
}

/* ---- frames ---- */

static bool read_frame(struct log_tail *tail, uint64_t offset, uint64_t size_bytes,
                       struct log_frame *ret_frame)
{
    return offset + sizeof(*ret_frame) <= size_bytes
           && log_tail_read(tail, ret_frame, sizeof(*ret_frame), offset) == sizeof(*ret_frame)
           && pack_check_header(ret_frame, (int64_t)offset, NULL) == 0
           && pack_frame_bytes(ret_frame) <= size_bytes - offset;
}

static void learn_program(struct log_tail *tail, const void *payload, size_t n_bytes)
{
    const struct log_def *def;
    size_t at = 0;

    while (!tail->program[0] && (def = definition_parts_def(payload, n_bytes, &at)) != NULL) {
        const char *text = (const char *)(def + 1);
        size_t n_path = strnlen(text, def->text_bytes); /* the arguments follow it */
        const char *slash = memrchr(text, '/', n_path);
        size_t n = n_path - (slash ? (size_t)(slash + 1 - text) : 0);
        if (def->kind == LOG_DEF_PROCESS && n > 0)
            memcpy(tail->program, slash ? slash + 1 : text,
                   n < LOG_TAIL_PROGRAM_BYTES ? n : LOG_TAIL_PROGRAM_BYTES - 1);
    }
}

/* The program's name is in a frame of definitions. */
static void find_program(struct log_tail *tail, uint64_t offset, const struct log_frame *frame)
{
    uint64_t *raw = malloc(PACK_PAYLOAD_MAX_BYTES);
    uint8_t *payload = malloc(PACK_PAYLOAD_MAX_BYTES);
    struct pack *pack = pack_new();

    if (raw && payload && pack && frame->payload_bytes <= PACK_PAYLOAD_MAX_BYTES
        && log_tail_read(tail, payload, frame->payload_bytes, offset + sizeof(*frame))
               == (ssize_t)frame->payload_bytes
        && pack_unpack(pack, frame, payload, (int64_t)offset, raw, NULL) == 0)
        learn_program(tail, raw, frame->raw_bytes);
    pack_free(pack);
    free(payload);
    free(raw);
}

void log_tail_look(struct log_tail *tail, bool is_final)
{
    struct log_frame frame;
    uint64_t size_bytes;

    if (tail->end == LOG_FILE_HEADER_BYTES)
        tail->is_rotated = is_rotated(tail);
    if (tail->is_rotated)
        find_files(tail);
    size_bytes = size_of(tail);
    while (read_frame(tail, tail->end, size_bytes, &frame)) {
        if (!tail->program[0] && frame.kind == LOG_FRAME_SEGMENT
            && frame.segment.kind == LOG_SEGMENT_DEFS)
            find_program(tail, tail->end, &frame);
        tail->has_trailer = frame.kind == LOG_FRAME_TRAILER;
        tail->end += pack_frame_bytes(&frame);
    }
    if (is_final && size_bytes > tail->end)
        tail->end = size_bytes;
}

bool log_tail_read_header(const struct log_tail *tail, void *ret_page)
{
    struct log_header file;

    if (pread(tail->fd, ret_page, LOG_FILE_HEADER_BYTES, 0) != LOG_FILE_HEADER_BYTES)
        return false;
    memcpy(&file, ret_page, sizeof(file));
    return log_header_is_packed(&file) && file.run_id != 0 && file.start_ticks != 0;
}
