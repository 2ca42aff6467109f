/* SPDX-License-Identifier: MIT */
#include "importer/cli/state_keeper.h"

#include "importer/log/checkpoint_file.h"
#include "importer/read/log_set_parts.h"
#include "lib/base/monotonic.h"
#include "lib/logfile/log_rotation.h"

#include <sys/statvfs.h>
#include <unistd.h>

/* A pause before a state that little room wants, or what was left: after one that made room; after one that made none, until all that was there is
 * certain, and a little for the clocks; the longest, where such states make none. */
#define LEAST_HURRY_NS   UINT64_C(1000000000)
#define CERTAIN_HURRY_NS (SOLE_PATIENCE_NS + SOLE_PATIENCE_NS / 16)
#define MOST_HURRY_NS    UINT64_C(60000000000)

/* SK-4: as much as is likely, or else at least as much as the last one. */
static void reserve(const struct state_keeper *keeper, struct state_writer **writer)
{
    uint64_t n_bytes = keeper->state_bytes;

    if (n_bytes < log_rotation_bytes() / LOG_ROTATION_GENERATIONS)
        n_bytes = log_rotation_bytes() / LOG_ROTATION_GENERATIONS;
    if (!*writer && state_writer_open(keeper->log_path, writer, NULL) != 0)
        *writer = NULL;
    if (*writer && !state_writer_reserve(*writer, n_bytes + n_bytes / 2))
        (void)state_writer_reserve(*writer, n_bytes);
}

int state_keeper_begin(struct state_keeper *keeper, const char *log_path,
                       struct incremental_import *standing, struct error *err)
{
    struct state_reader *reader;
    int code = state_reader_open(log_path, &reader, err);

    *keeper = (struct state_keeper){.log_path = log_path, .hurry_pause_ns = LEAST_HURRY_NS};
    if (code == 0 && reader) {
        struct state_source source = state_reader_source(reader);
        keeper->state_bytes = log_rotation_state_bytes(log_path);
        code = incremental_import_load(standing, &source, err);
        state_reader_close(reader);
    }
    if (code == 0)
        reserve(keeper, &keeper->next);
    if (code == 0 && !keeper->state_bytes)
        reserve(keeper, &keeper->spare);
    return code;
}

void state_keeper_done(struct state_keeper *keeper)
{
    state_writer_close(keeper->next);
    state_writer_close(keeper->spare);
    keeper->next = keeper->spare = NULL;
}

static bool has_little_room(const struct state_keeper *keeper)
{
    struct statvfs room;

    return statvfs(keeper->log_path, &room) == 0
           && (uint64_t)room.f_bavail * room.f_frsize < log_rotation_bytes() / 2;
}

static uint64_t due_bytes(const struct state_keeper *keeper)
{
    return keeper->state_bytes > log_rotation_bytes() ? keeper->state_bytes : log_rotation_bytes();
}

/* One generation stays at any rate. */
static bool must_hurry(struct state_keeper *keeper, uint64_t n_bytes)
{
    uint64_t now_ns = monotonic_now_ns();

    if (n_bytes <= log_rotation_bytes() / LOG_ROTATION_GENERATIONS || now_ns < keeper->hurry_ns
        || (n_bytes < due_bytes(keeper) && !has_little_room(keeper)))
        return false;
    keeper->hurry_ns = now_ns + keeper->hurry_pause_ns;
    return true;
}

/* A quarter of what there is: so the headers of frames, which are read for each piece, are read four times in all, however much there is. */
uint64_t state_keeper_piece_bytes(const struct state_keeper *keeper)
{
    uint64_t n_due = due_bytes(keeper);

    return n_due < keeper->seen_bytes / 4 ? keeper->seen_bytes / 4 : n_due;
}

bool state_keeper_is_due(struct state_keeper *keeper)
{
    keeper->is_hurried = false;
    if (keeper->is_behind)
        return true;
    uint64_t n_bytes = log_rotation_run_bytes(keeper->log_path);
    keeper->seen_bytes = n_bytes;
    if (n_bytes >= keeper->left_bytes + due_bytes(keeper))
        return true;
    keeper->is_hurried = must_hurry(keeper, n_bytes);
    return keeper->is_hurried;
}

/* The first of its generations that has an event which was not taken in; behind the last, where none has. */
static size_t first_with_events(const struct incremental_import *standing,
                                const struct log_input *input)
{
    size_t first = input->n_generations + 1;

    for (size_t i = 0; i < input->segments.n; i++) {
        const struct log_segment_ref *ref = &input->segments.refs[i];
        if (ref->file > 0 && ref->file < first
            && !incremental_import_is_done(standing, input->header.run_id, ref->sequence))
            first = ref->file;
    }
    return first;
}

/* Was the last sample of the frame, which was taken last, taken in? One that is damaged never will be. */
static bool are_samples_done(const struct incremental_import *standing, size_t input_index,
                             size_t frame)
{
    static struct log_sample samples[PACK_PAYLOAD_MAX_BYTES / sizeof(struct log_sample) + 1];
    const struct log_set *logs = incremental_import_logs(standing);
    size_t n = 0;
    int code =
        log_input_read_samples(logs->inputs[input_index], frame, logs->pack, samples, &n, NULL);

    if (code)
        return code == ERROR_FORMAT;
    return n == 0
           || samples[n - 1].monotonic_ns <= incremental_import_sample_ns(standing, input_index);
}

/* The same with samples, up to `end`. */
static size_t first_with_samples(const struct incremental_import *standing, size_t input_index,
                                 size_t end)
{
    const struct log_input *input = incremental_import_logs(standing)->inputs[input_index];

    for (size_t i = 0; i < input->n_samples && input->samples[i].file < end; i++)
        if (input->samples[i].file > 0 && !are_samples_done(standing, input_index, i))
            return input->samples[i].file;
    return end;
}

/* In their order, so that one number says which are to be there. Of a log that grows the last one stays (SK-2), and was perhaps read too early. */
static void note_done(struct incremental_import *standing)
{
    const struct log_set *logs = incremental_import_logs(standing);

    for (size_t i = 0; i < logs->n_inputs; i++) {
        const struct log_input *input = logs->inputs[i];
        size_t end = input->n_generations + 1 - (input->is_growing && input->n_generations);
        size_t first = first_with_events(standing, input);
        first = first_with_samples(standing, i, first < end ? first : end);
        if (first > 1)
            incremental_import_note_gone(standing, i, input->files[first - 1]->generation + 1);
    }
}

/* True: there was one. */
static bool remove_done(const struct incremental_import *standing)
{
    const struct log_set *logs = incremental_import_logs(standing);
    bool is_any = false;

    for (size_t i = 0; i < logs->n_inputs; i++) {
        const struct log_input *input = logs->inputs[i];
        uint32_t first = incremental_import_first_generation(standing, i);
        for (size_t k = 1; k <= input->n_generations && input->files[k]->generation < first; k++)
            is_any |= unlink(input->files[k]->path) == 0;
    }
    return is_any;
}

static int write_state(struct state_keeper *keeper, struct incremental_import *standing,
                       const struct log_file *header, struct error *err)
{
    int code = keeper->next ? 0 : state_writer_open(keeper->log_path, &keeper->next, err);

    if (code == 0)
        code = state_writer_begin(keeper->next, header, err);
    if (code == 0) {
        struct state_sink sink = state_writer_sink(keeper->next);
        code = incremental_import_save(standing, &sink, err);
    }
    bool has_old = false;
    if (code == 0)
        code = state_writer_commit(keeper->next, &has_old, err);
    if (code == 0)
        keeper->state_bytes = state_writer_bytes(keeper->next);
    if (code == 0 && !has_old) {
        state_writer_close(keeper->next);
        keeper->next = keeper->spare;
        keeper->spare = NULL;
    }
    return code;
}

/* Longer each time only where haste was in vain: what came meanwhile, and was too new, says nothing of what is certain later. */
static uint64_t pause_before_hurry(const struct state_keeper *keeper, bool has_made_some)
{
    uint64_t pause_ns = keeper->is_hurried ? 2 * keeper->hurry_pause_ns : 0;

    if (has_made_some)
        return LEAST_HURRY_NS;
    if (pause_ns < CERTAIN_HURRY_NS)
        return CERTAIN_HURRY_NS;
    return pause_ns < MOST_HURRY_NS ? pause_ns : MOST_HURRY_NS;
}

/* What is removed makes room, if anything does. */
static void note_room(struct state_keeper *keeper, bool has_made_some)
{
    keeper->left_bytes = keeper->seen_bytes = log_rotation_run_bytes(keeper->log_path);
    keeper->hurry_pause_ns = pause_before_hurry(keeper, has_made_some);
    keeper->hurry_ns = monotonic_now_ns() + keeper->hurry_pause_ns;
}

int state_keeper_save(struct state_keeper *keeper, struct incremental_import *standing,
                      struct error *err)
{
    const struct log_set *logs = incremental_import_logs(standing);
    bool has_made_room = false;
    int code = 0;

    if (logs && logs->n_inputs && incremental_import_n_kept(standing)) {
        note_done(standing);
        code = write_state(keeper, standing, &logs->inputs[0]->header, err);
        if (code)
            return code;
        has_made_room = remove_done(standing);
        reserve(keeper, &keeper->next);
    }
    keeper->is_behind = incremental_import_is_behind(standing);
    note_room(keeper, has_made_room);
    return 0;
}
