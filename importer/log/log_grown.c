/* SPDX-License-Identifier: MIT */
/* Part of log_input: rotated logs, and segments of a live log that change while the log is read. */
#include "importer/log/log_input.h"
#include "importer/log/process_logs.h"
#include "lib/base/dynamic_array.h"
#include "lib/logfile/log_rotation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- rotated logs ---- */

enum {
    MAX_OPEN_ROTATED_LOGS = 256, /* a normal ring has half as many */
    OPEN_SHARE = 64,             /* share of the descriptors, since there may be many logs */
};

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory");
}

int log_grown_open_rotated(struct log_input *input, uint32_t number, struct text_arena *arena,
                           bool *ret_is_ours, struct error *err)
{
    char *name = log_rotation_name(log_input_packed(input)->path, number);
    struct log_file_reader *file;
    struct error failure = {.code = 0};
    int r = name ? log_file_open(name, arena, &file, &failure) : out_of_memory(&failure);

    free(name);
    *ret_is_ours = false;
    if (r == ERROR_FORMAT || failure.os_errno == ENOENT)
        return 0;
    if (r != 0) {
        if (err)
            *err = failure;
        return r;
    }
    if (file->header.run_id != input->header.run_id || file->header.form != LOG_FORM_PACKED) {
        log_file_close(file);
        return 0;
    }
    *ret_is_ours = true;
    file->rotated_number = number;
    input->last_rotated_number = number; /* a file without a header may grow later */
    return log_input_add_file(input, file) == 0 ? 0 : out_of_memory(err);
}

void log_grown_rest_rotated(const struct log_input *input, size_t index)
{
    struct rlimit limit = {0};

    if (index > MAX_OPEN_ROTATED_LOGS || getrlimit(RLIMIT_NOFILE, &limit) != 0
        || index > limit.rlim_cur / OPEN_SHARE)
        log_file_close_fd(input->files[index]);
}

/* ---- segments of the live log ---- */

/* Reads a number of the current header; 0: not there. */
static int read_number(struct log_file_reader *file, size_t offset, uint64_t *ret,
                       struct error *err)
{
    uint64_t number = 0;
    size_t n = 0;
    int r = log_file_read_at(file, &number, sizeof(number), offset, &n, err);

    *ret = n == sizeof(number) ? number : 0;
    return r;
}

static int read_watermark(struct log_file_reader *file, uint64_t *ret, struct error *err)
{
    return read_number(file, LOG_PACKING_OFFSET + offsetof(struct log_packing, watermark_ticks),
                       ret, err);
}

int log_grown_begin(struct log_input *input, struct log_file_reader *file, uint64_t *ret_sequence,
                    struct error *err)
{
    int r = read_watermark(file, &input->watermark_ticks, err);

    return r ? r : read_number(file, offsetof(struct log_header, next_sequence), ret_sequence, err);
}

/* If a recorder began to elide in the meantime, it is unknown what it had elided by then. */
int log_grown_end(struct log_input *input, struct log_file_reader *file, struct error *err)
{
    uint64_t watermark_ticks = 0;
    int r = input->watermark_ticks ? 0 : read_watermark(file, &watermark_ticks, err);

    if (r == 0 && watermark_ticks)
        input->watermark_ticks = 1;
    return r;
}

/* ---- copies ---- */

static int keep_copy(struct log_input *input, struct log_segment_ref *ref, const void *payload)
{
    uint64_t **copies = dynamic_array_reserve(input->copies, &input->copies_capacity,
                                              input->n_copies + 1, sizeof(*copies));

    if (!copies)
        return ERROR_NOMEM;
    input->copies = copies;
    uint64_t *copy = malloc(ref->raw_bytes);
    if (!copy)
        return ERROR_NOMEM;
    memcpy(copy, payload, ref->raw_bytes);
    copies[input->n_copies++] = copy;
    ref->copy = (uint32_t)input->n_copies;
    return 0;
}

/* ERROR_FORMAT: the segment was recycled. */
static int copy_segment(struct log_input *input, struct log_segment_ref *ref, struct pack *pack,
                        struct error *err)
{
    static _Thread_local uint64_t payload[LOG_SEGMENT_BYTES / sizeof(uint64_t)];
    int r = log_file_read(input->files[ref->file], ref, pack, payload, err);

    if (r == 0 && keep_copy(input, ref, payload) != 0)
        r = out_of_memory(err);
    return r;
}

/* A segment that was packed in the meantime was sealed before: its frame is listed, or is found
 * when it is read. */
int log_grown_copy(struct log_input *input, struct log_segment_list *list, struct pack *pack,
                   struct error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!list->refs[i].is_filling)
            continue;
        int r = copy_segment(input, &list->refs[i], pack, err);
        if (r != 0 && r != ERROR_FORMAT)
            return r;
    }
    return 0;
}

int log_grown_read_copy(const struct log_input *input, size_t index, void *payload)
{
    const struct log_segment_ref *ref = &input->segments.refs[index];

    memcpy(payload, input->copies[ref->copy - 1], ref->raw_bytes);
    return 0;
}

void log_grown_done(struct log_input *input)
{
    for (size_t i = 0; i < input->n_copies; i++)
        free(input->copies[i]);
    free(input->copies);
    log_segment_list_done(&input->grown);
}

/* ---- frames written since then ---- */

static const struct log_segment_ref *find_grown(const struct log_input *input, uint64_t sequence)
{
    for (size_t i = 0; i < input->grown.n; i++)
        if (input->grown.refs[i].sequence == sequence)
            return &input->grown.refs[i];
    return NULL;
}

static int scan_grown(struct log_input *input, size_t index, struct error *err)
{
    size_t first = input->grown.n;
    int r = log_scan_grown(input->files[index], &input->grown, err);

    for (size_t k = first; k < input->grown.n; k++)
        input->grown.refs[k].file = (uint16_t)index;
    return r;
}

/* Opens the packed file of a live log that had none when it was opened: a recorder began to pack it
 * since, as for a followed child. */
static int open_packed(struct log_input *input, struct error *err)
{
    struct log_file_reader *file = NULL;
    char *name;
    int r;

    if (input->n_files > 1 || !process_logs_is_live(input->files[0]->path))
        return 0;
    name = process_logs_packed_path(input->files[0]->path);
    if (!name)
        return out_of_memory(err);
    r = log_file_open(name, input->names.arena, &file, NULL);
    free(name);
    if (r == 0 && file->header.run_id == input->header.run_id
        && file->header.form == LOG_FORM_PACKED)
        return log_input_add_file(input, file) == 0 ? 0 : out_of_memory(err);
    log_file_close(file);
    return r == ERROR_NOMEM ? out_of_memory(err) : 0;
}

/* Opens rotated logs that were begun since then; they are added after the live log. */
static int open_begun(struct log_input *input, struct error *err)
{
    struct log_rotation ring;
    int r = 0;

    if (log_rotation_find(log_input_packed(input)->path, &ring) != 0)
        return out_of_memory(err);
    for (size_t i = 0; r == 0 && i < ring.n; i++) {
        bool is_ours = false;
        if (ring.numbers[i] > input->last_rotated_number)
            r = log_grown_open_rotated(input, ring.numbers[i], input->names.arena, &is_ours, err);
        if (r == 0 && is_ours)
            log_grown_rest_rotated(input, input->n_files - 1);
    }
    log_rotation_done(&ring);
    return r;
}

/* Lists the new frames of all packed files. */
static int find_frames(struct log_input *input, struct error *err)
{
    int r = open_packed(input, err);

    if (r == 0 && log_input_is_bounded(input))
        r = open_begun(input, err);
    for (size_t i = 0; r == 0 && i < input->n_files; i++)
        if (input->files[i]->header.form == LOG_FORM_PACKED)
            r = scan_grown(input, i, err);
    return r;
}

int log_grown_read(struct log_input *input, size_t index, struct pack *pack, void *payload,
                   struct error *err)
{
    struct log_segment_ref *listed = &input->segments.refs[index];
    const struct log_segment_ref *ref = find_grown(input, listed->sequence);

    if (!ref) {
        int r = find_frames(input, err);
        if (r != 0)
            return r;
        ref = find_grown(input, listed->sequence);
    }
    if (!ref)
        return ERROR_FORMAT;
    int r = log_file_read(input->files[ref->file], ref, pack, payload, err);
    if (r == 0)
        *listed = *ref;
    return r;
}
