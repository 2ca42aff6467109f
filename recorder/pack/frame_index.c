/* SPDX-License-Identifier: MIT */
#include "recorder/pack/frame_index.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/file_io.h"
#include "lib/logfile/log_header.h"
#include "lib/logfile/pack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static bool is_sound_at(const struct frame_index *index, size_t offset)
{
    const struct log_frame *frame = (const void *)(index->bytes + offset);

    return index->n_bytes - offset >= sizeof(*frame) && frame->magic == LOG_FRAME_MAGIC
           && pack_check_header(frame, 0, NULL) == 0
           && pack_frame_bytes(frame) <= index->n_bytes - offset
           && XXH64(frame + 1, frame->payload_bytes, 0) == frame->payload_checksum;
}

static int find_frames(struct frame_index *index, struct error *err)
{
    size_t capacity = 0;
    size_t offset = LOG_FILE_HEADER_BYTES;

    index->is_rotated = log_header_is_rotated(index->bytes + offset, index->n_bytes - offset);
    if (index->is_rotated)
        return 0;
    while (offset + sizeof(struct log_frame) <= index->n_bytes) {
        if (!is_sound_at(index, offset)) {
            offset += PACK_FRAME_ALIGN;
            index->damaged_bytes += PACK_FRAME_ALIGN;
            continue;
        }
        size_t *offsets =
            dynamic_array_reserve(index->offsets, &capacity, index->n_frames + 1, sizeof(*offsets));
        if (!offsets)
            return error_set(err, ERROR_NOMEM, "not enough memory");
        index->offsets = offsets;
        offsets[index->n_frames++] = offset;
        offset += pack_frame_bytes((const void *)(index->bytes + offset));
    }
    index->damaged_bytes += offset < index->n_bytes ? index->n_bytes - offset : 0;
    return 0;
}

static int map_file(const char *path, struct frame_index *ret_index, struct error *err)
{
    struct stat status;
    void *bytes;
    int fd;
    int code = file_io_open_regular(path, ERROR_FORMAT, &fd, &status, err);

    if (code)
        return code;
    if (status.st_size < LOG_FILE_HEADER_BYTES) {
        code = error_set(err, ERROR_FORMAT, "'%s' is too short for a log of mtrace", path);
    } else {
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            code = error_set_errno(err, errno, "cannot map '%s'", path);
        else
            *ret_index = (struct frame_index){.bytes = bytes, .n_bytes = (size_t)status.st_size};
    }
    close(fd);
    return code;
}

int frame_index_open(const char *path, struct frame_index *ret_index, struct error *err)
{
    const struct log_header *file;
    int code = map_file(path, ret_index, err);

    if (code)
        return code;
    file = (const void *)ret_index->bytes;
    if (!log_header_is_ours(file))
        code = error_set(err, ERROR_FORMAT, "'%s' is not a log of mtrace", path);
    else
        code = log_header_check(file, path, err);
    if (code == 0 && file->form != LOG_FORM_PACKED)
        code = error_set(err, ERROR_FORMAT, "'%s' is not a packed log", path);
    if (code == 0)
        code = find_frames(ret_index, err);
    if (code)
        frame_index_done(ret_index);
    return code;
}

void frame_index_done(struct frame_index *index)
{
    if (index->bytes)
        munmap((void *)(uintptr_t)index->bytes, index->n_bytes);
    free(index->offsets);
    *index = (struct frame_index){0};
}

const struct log_frame *frame_index_get(const struct frame_index *index, size_t i)
{
    return (const void *)(index->bytes + index->offsets[i]);
}

void frame_index_get_file(const struct frame_index *index, struct log_header *ret_file)
{
    memcpy(ret_file, index->bytes, sizeof(*ret_file));
    for (size_t i = 0; i < index->n_frames; i++) {
        const struct log_frame *frame = frame_index_get(index, i);
        struct pack *pack;
        uint64_t bytes[PACK_PAYLOAD_MAX_BYTES / 8];
        if (frame->kind != LOG_FRAME_TRAILER || frame->raw_bytes != sizeof(*ret_file))
            continue;
        pack = pack_new();
        if (pack && pack_unpack(pack, frame, frame + 1, 0, bytes, NULL) == 0)
            memcpy(ret_file, bytes, sizeof(*ret_file));
        pack_free(pack);
    }
}
