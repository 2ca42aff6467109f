/* SPDX-License-Identifier: MIT */
#include "importer/command/state_keeper.h"

#include "importer/events/log_set_parts.h"
#include "importer/log/state_file.h"
#include "support/log_ring.h"
#include "support/monotonic.h"

#include <sys/statvfs.h>
#include <unistd.h>

/* A pause between states that little room wants: the first, and the longest, where they make none. */
#define LEAST_HURRY_NS UINT64_C(1000000000)
#define MOST_HURRY_NS  UINT64_C(60000000000)

/* SK-4: as much as is likely, or else at least as much as the last one. */
static void reserve(struct state_keeper *keeper)
{
    uint64_t n_bytes = keeper->state_bytes;

    if (n_bytes < log_ring_bytes() / LOG_RING_GENERATIONS)
        n_bytes = log_ring_bytes() / LOG_RING_GENERATIONS;
    if (!keeper->next && state_writer_open(keeper->log_path, &keeper->next, NULL) != 0)
        keeper->next = NULL;
    if (keeper->next && !state_writer_reserve(keeper->next, n_bytes + n_bytes / 2))
        (void)state_writer_reserve(keeper->next, n_bytes);
}

int state_keeper_begin(struct state_keeper *keeper, const char *log_path,
                       struct standing_import *standing, struct error *err)
{
    struct state_reader *reader;
    int code = state_reader_open(log_path, &reader, err);

    *keeper = (struct state_keeper){.log_path = log_path, .hurry_pause_ns = LEAST_HURRY_NS};
    if (code == 0 && reader) {
        struct state_source source = state_reader_source(reader);
        keeper->state_bytes = state_reader_bytes(reader);
        code = standing_import_load(standing, &source, err);
        state_reader_close(reader);
    }
    if (code == 0)
        reserve(keeper);
    return code;
}

void state_keeper_done(struct state_keeper *keeper)
{
    state_writer_close(keeper->next);
    keeper->next = NULL;
}

static bool has_little_room(const struct state_keeper *keeper)
{
    struct statvfs room;

    return statvfs(keeper->log_path, &room) == 0
           && (uint64_t)room.f_bavail * room.f_frsize < log_ring_bytes() / 2;
}

/* One generation stays at any rate. */
static bool must_hurry(struct state_keeper *keeper, uint64_t n_bytes)
{
    uint64_t now_ns = monotonic_now_ns();

    if (n_bytes <= log_ring_bytes() / LOG_RING_GENERATIONS || now_ns < keeper->hurry_ns
        || !has_little_room(keeper))
        return false;
    keeper->hurry_ns = now_ns + keeper->hurry_pause_ns;
    return true;
}

bool state_keeper_is_due(struct state_keeper *keeper)
{
    uint64_t n_due = log_ring_bytes();
    uint64_t n_bytes = log_ring_run_bytes(keeper->log_path);

    if (n_due < keeper->state_bytes)
        n_due = keeper->state_bytes;
    return n_bytes >= keeper->left_bytes + n_due || must_hurry(keeper, n_bytes);
}

static bool is_file_done(const struct standing_import *standing, const struct log_input *input,
                         size_t file)
{
    for (size_t i = 0; i < input->segments.n; i++) {
        const struct log_segment_ref *ref = &input->segments.refs[i];
        if (ref->file == file
            && !standing_import_is_done(standing, input->header.run_id, ref->sequence))
            return false;
    }
    return true;
}

/* The last frame of samples in the file says when the last of them was taken; one that cannot be read stays. */
static bool are_samples_done(const struct standing_import *standing, const struct log_set *logs,
                             size_t input_index, size_t file)
{
    static struct log_sample samples[PACK_PAYLOAD_MAX_BYTES / sizeof(struct log_sample) + 1];
    const struct log_input *input = logs->inputs[input_index];
    size_t n = 0;

    for (size_t i = input->n_samples; i-- > 0;) {
        if (input->samples[i].file != file)
            continue;
        return log_input_read_samples(input, i, logs->pack, samples, &n, NULL) == 0 && n
               && samples[n - 1].monotonic_ns <= standing_import_sample_ns(standing, input_index);
    }
    return true;
}

/* In their order, so that one number says which are to be there. Of a log that grows the last one stays (SK-2), and was perhaps read too early. */
static void note_done(struct standing_import *standing)
{
    const struct log_set *logs = standing_import_logs(standing);

    for (size_t i = 0; i < logs->n_inputs; i++) {
        const struct log_input *input = logs->inputs[i];
        size_t n = input->n_generations;
        for (size_t k = 1; k + input->is_growing <= n; k++) {
            if (!is_file_done(standing, input, k) || !are_samples_done(standing, logs, i, k))
                break;
            standing_import_note_gone(standing, i, input->files[k]->generation + 1);
        }
    }
}

static void remove_done(const struct standing_import *standing)
{
    const struct log_set *logs = standing_import_logs(standing);

    for (size_t i = 0; i < logs->n_inputs; i++) {
        const struct log_input *input = logs->inputs[i];
        uint32_t first = standing_import_first_generation(standing, i);
        for (size_t k = 1; k <= input->n_generations && input->files[k]->generation < first; k++)
            unlink(input->files[k]->path);
    }
}

static int write_state(struct state_keeper *keeper, struct standing_import *standing,
                       const struct log_file *header, struct error *err)
{
    int code = keeper->next ? 0 : state_writer_open(keeper->log_path, &keeper->next, err);

    if (code == 0)
        code = state_writer_begin(keeper->next, header, err);
    if (code == 0) {
        struct state_sink sink = state_writer_sink(keeper->next);
        code = standing_import_save(standing, &sink, err);
    }
    if (code == 0)
        code = state_writer_commit(keeper->next, err);
    if (code == 0)
        keeper->state_bytes = state_writer_bytes(keeper->next);
    if (code == 0)
        state_keeper_done(keeper);
    return code;
}

/* What is removed makes room, if anything does. */
static void note_room(struct state_keeper *keeper, uint64_t before_bytes)
{
    keeper->left_bytes = log_ring_run_bytes(keeper->log_path);
    keeper->hurry_pause_ns = keeper->left_bytes < before_bytes        ? LEAST_HURRY_NS
                             : keeper->hurry_pause_ns < MOST_HURRY_NS ? 2 * keeper->hurry_pause_ns
                                                                      : MOST_HURRY_NS;
}

int state_keeper_save(struct state_keeper *keeper, struct standing_import *standing,
                      struct error *err)
{
    const struct log_set *logs = standing_import_logs(standing);
    uint64_t before_bytes = log_ring_run_bytes(keeper->log_path);
    int code = 0;

    if (logs && logs->n_inputs && standing_import_n_kept(standing)) {
        note_done(standing);
        code = write_state(keeper, standing, &logs->inputs[0]->header, err);
        if (code)
            return code;
        remove_done(standing);
        reserve(keeper); /* before others take the room */
    }
    note_room(keeper, before_bytes);
    return 0;
}
