/* SPDX-License-Identifier: MIT */
#include "importer/cli/checkpoint_writer.h"

#include "importer/log/checkpoint_file.h"
#include "importer/read/log_set.h"
#include "lib/base/monotonic.h"
#include "lib/logfile/log_rotation.h"

#include <sys/statvfs.h>
#include <unistd.h>

/* SK-5: until everything written by then is certain, with a margin for the clocks; and at least so
 * many times the processor time of the last checkpoint. */
#define HURRY_NS (IDLE_TIME_LIMIT_NS + IDLE_TIME_LIMIT_NS / 16)

enum {
    HURRY_REST = 8
};

/* SK-4: reserves 1.5 times the last size, or at least that size. */
static void reserve(const struct checkpoint_writer *follower, struct state_writer **writer)
{
    uint64_t n_bytes = follower->checkpoint_io_bytes;

    if (n_bytes < log_rotation_bytes() / LOG_ROTATION_FILES)
        n_bytes = log_rotation_bytes() / LOG_ROTATION_FILES;
    if (!*writer && state_writer_open(follower->log_path, writer, NULL) != 0)
        *writer = NULL;
    if (*writer && !state_writer_reserve(*writer, n_bytes + n_bytes / 2))
        (void)state_writer_reserve(*writer, n_bytes);
}

void checkpoint_writer_begin(struct checkpoint_writer *follower, const char *log_path)
{
    *follower = (struct checkpoint_writer){
        .log_path = log_path, .checkpoint_io_bytes = log_rotation_state_bytes(log_path)};
    reserve(follower, &follower->next);
    if (!follower->checkpoint_io_bytes)
        reserve(follower, &follower->spare);
}

int checkpoint_writer_load(struct checkpoint_writer *follower,
                           struct incremental_import *incremental, struct error *err)
{
    struct state_reader *reader;
    int code = state_reader_open(follower->log_path, &reader, err);

    if (code == 0 && reader) {
        struct checkpoint_io_source source = state_reader_source(reader);
        code = incremental_import_load(incremental, &source, err);
        state_reader_close(reader);
    }
    return code;
}

void checkpoint_writer_done(struct checkpoint_writer *follower)
{
    state_writer_close(follower->next);
    state_writer_close(follower->spare);
    follower->next = follower->spare = NULL;
}

static bool has_little_room(const struct checkpoint_writer *follower)
{
    struct statvfs room;

    return statvfs(follower->log_path, &room) == 0
           && (uint64_t)room.f_bavail * room.f_frsize < log_rotation_bytes() / 2;
}

static uint64_t due_bytes(const struct checkpoint_writer *follower)
{
    return follower->checkpoint_io_bytes > log_rotation_bytes() ? follower->checkpoint_io_bytes
                                                                : log_rotation_bytes();
}

/* The last rotated log always stays, so a single one is no reason to hurry. */
bool checkpoint_writer_is_due(const struct checkpoint_writer *follower)
{
    uint64_t n_bytes = log_rotation_run_bytes(follower->log_path);

    if (n_bytes >= follower->left_bytes + due_bytes(follower))
        return true;
    return n_bytes > log_rotation_bytes() / LOG_ROTATION_FILES
           && monotonic_now_ns() >= follower->hurry_ns
           && (n_bytes >= due_bytes(follower) || has_little_room(follower));
}

/* The first rotated log with an event that was not imported; the number after the last if there is
 * none. */
static size_t first_with_events(const struct incremental_import *incremental,
                                const struct log_input *input)
{
    size_t first = input->n_rotated_logs + 1;

    for (size_t i = 0; i < input->segments.n; i++) {
        const struct log_segment_ref *ref = &input->segments.refs[i];
        if (ref->file > 0 && ref->file < first
            && !incremental_import_is_done(incremental, input->header.run_id, ref->sequence))
            first = ref->file;
    }
    return first;
}

/* Was the last sample of the frame imported? A damaged frame counts as done, since it never will
 * be. */
static bool are_samples_done(const struct incremental_import *incremental, size_t input_index,
                             size_t frame)
{
    static struct log_sample samples[PACK_PAYLOAD_MAX_BYTES / sizeof(struct log_sample) + 1];
    const struct log_set *logs = incremental_import_logs(incremental);
    size_t n = 0;
    int code =
        log_input_read_samples(logs->inputs[input_index], frame, logs->pack, samples, &n, NULL);

    if (code)
        return code == ERROR_FORMAT;
    return n == 0
           || samples[n - 1].monotonic_ns <= incremental_import_sample_ns(incremental, input_index);
}

/* The same for samples, in files before `end`. */
static size_t first_with_samples(const struct incremental_import *incremental, size_t input_index,
                                 size_t end)
{
    const struct log_input *input = incremental_import_logs(incremental)->inputs[input_index];

    for (size_t i = 0; i < input->n_samples && input->samples[i].file < end; i++)
        if (input->samples[i].file > 0 && !are_samples_done(incremental, input_index, i))
            return input->samples[i].file;
    return end;
}

/* Removal is in order, so that one number describes which files must exist. The last file of a
 * growing log stays (SK-2); it may have been read before it was complete. */
static void note_done(struct incremental_import *incremental)
{
    const struct log_set *logs = incremental_import_logs(incremental);

    for (size_t i = 0; i < logs->n_inputs; i++) {
        const struct log_input *input = logs->inputs[i];
        size_t end = input->n_rotated_logs + 1 - (input->is_growing && input->n_rotated_logs);
        size_t first = first_with_events(incremental, input);
        first = first_with_samples(incremental, i, first < end ? first : end);
        if (first > 1)
            incremental_import_note_removed(incremental, i,
                                            input->files[first - 1]->rotated_number + 1);
    }
}

/* An open descriptor would keep the disk space. */
static void remove_done(const struct incremental_import *incremental)
{
    const struct log_set *logs = incremental_import_logs(incremental);

    for (size_t i = 0; i < logs->n_inputs; i++) {
        const struct log_input *input = logs->inputs[i];
        uint32_t first = incremental_import_first_rotated_number(incremental, i);
        for (size_t k = 1; k <= input->n_rotated_logs && input->files[k]->rotated_number < first;
             k++) {
            (void)unlink(input->files[k]->path);
            log_file_close_fd(input->files[k]);
        }
    }
}

static int write_state(struct checkpoint_writer *follower, struct incremental_import *incremental,
                       const struct log_header *header, struct error *err)
{
    int code = follower->next ? 0 : state_writer_open(follower->log_path, &follower->next, err);

    if (code == 0)
        code = state_writer_begin(follower->next, header, err);
    if (code == 0) {
        struct checkpoint_io_sink sink = state_writer_sink(follower->next);
        code = incremental_import_save(incremental, &sink, err);
    }
    bool has_old = false;
    if (code == 0)
        code = state_writer_commit(follower->next, &has_old, err);
    if (code == 0)
        follower->checkpoint_io_bytes = state_writer_bytes(follower->next);
    if (code == 0 && !has_old) {
        state_writer_close(follower->next);
        follower->next = follower->spare;
        follower->spare = NULL;
    }
    return code;
}

int checkpoint_writer_save(struct checkpoint_writer *follower,
                           struct incremental_import *incremental, struct error *err)
{
    const struct log_set *logs = incremental_import_logs(incremental);
    uint64_t began_ns = own_cpu_ns();

    if (logs && logs->n_inputs && incremental_import_n_kept(incremental)) {
        note_done(incremental);
        int code = write_state(follower, incremental, &logs->inputs[0]->header, err);
        if (code)
            return code;
        remove_done(incremental);
        reserve(follower, &follower->next);
    }
    uint64_t rest_ns = (own_cpu_ns() - began_ns) * HURRY_REST;
    follower->left_bytes = log_rotation_run_bytes(follower->log_path);
    follower->hurry_ns = monotonic_now_ns() + (rest_ns > HURRY_NS ? rest_ns : HURRY_NS);
    return 0;
}
