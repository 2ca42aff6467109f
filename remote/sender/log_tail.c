/* SPDX-License-Identifier: MIT */
#include "remote/sender/log_tail.h"

#include "lib/base/file_io.h"
#include "lib/logfile/definition_parts.h"
#include "lib/logfile/log_header.h"
#include "lib/logfile/pack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int log_tail_open(const char *path, struct log_tail *ret_tail, struct error *err)
{
    struct stat status;
    int fd;
    int code = file_io_open_regular(path, ERROR_FORMAT, &fd, &status, err);

    if (code)
        return code;
    *ret_tail = (struct log_tail){.fd = fd,
                                  .end = LOG_FILE_HEADER_BYTES,
                                  .punched_hole = punched_hole_read(fd),
                                  .device = status.st_dev,
                                  .inode = status.st_ino};
    if (ret_tail->punched_hole)
        ret_tail->end = ret_tail->punched_hole;
    return 0;
}

void log_tail_close(struct log_tail *tail)
{
    if (tail->fd >= 0)
        close(tail->fd);
    tail->fd = -1;
}

/* ---- frames ---- */

static bool read_frame(const struct log_tail *tail, uint64_t offset, uint64_t size_bytes,
                       struct log_frame *ret_frame)
{
    return offset + sizeof(*ret_frame) <= size_bytes
           && pread(tail->fd, ret_frame, sizeof(*ret_frame), (off_t)offset) == sizeof(*ret_frame)
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
        && pread(tail->fd, payload, frame->payload_bytes, (off_t)(offset + sizeof(*frame)))
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
    struct stat status;
    uint64_t size_bytes;

    if (fstat(tail->fd, &status) != 0)
        return;
    size_bytes = (uint64_t)status.st_size;
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

uint64_t log_tail_boundary(const struct log_tail *tail, uint64_t limit)
{
    uint64_t at = tail->punched_hole ? tail->punched_hole : LOG_FILE_HEADER_BYTES;
    struct log_frame frame;

    while (at < limit && read_frame(tail, at, tail->end, &frame)
           && at + pack_frame_bytes(&frame) <= limit)
        at += pack_frame_bytes(&frame);
    return at;
}

bool log_tail_read_header(const struct log_tail *tail, void *ret_page)
{
    struct log_file file;

    if (pread(tail->fd, ret_page, LOG_FILE_HEADER_BYTES, 0) != LOG_FILE_HEADER_BYTES)
        return false;
    memcpy(&file, ret_page, sizeof(file));
    return log_header_is_packed(&file) && file.run_id != 0 && file.start_ticks != 0;
}
