/* SPDX-License-Identifier: MIT */
#include "importer/command/state_keeper.h"

#include "importer/events/log_set_parts.h"
#include "importer/log/state_file.h"
#include "support/log_ring.h"

#include <unistd.h>

int state_keeper_begin(struct state_keeper *keeper, const char *log_path,
                       struct standing_import *standing, struct error *err)
{
    struct state_reader *reader;
    int code = state_reader_open(log_path, &reader, err);

    *keeper = (struct state_keeper){.log_path = log_path};
    if (code || !reader)
        return code;
    struct state_source source = state_reader_source(reader);
    keeper->state_bytes = state_reader_bytes(reader);
    code = standing_import_load(standing, &source, err);
    state_reader_close(reader);
    return code;
}

bool state_keeper_is_due(const struct state_keeper *keeper)
{
    uint64_t n_bytes = log_ring_bytes();

    if (n_bytes < keeper->state_bytes)
        n_bytes = keeper->state_bytes;

    return log_ring_run_bytes(keeper->log_path) >= keeper->left_bytes + n_bytes;
}

/* What nothing was found in may have been read too early. */
static bool is_file_done(const struct standing_import *standing, const struct log_input *input,
                         size_t file)
{
    bool has_segments = false;

    for (size_t i = 0; i < input->segments.n; i++) {
        const struct log_segment_ref *ref = &input->segments.refs[i];
        if (ref->file != file)
            continue;
        if (!standing_import_is_done(standing, input->header.run_id, ref->sequence))
            return false;
        has_segments = true;
    }
    for (size_t i = 0; i < input->n_samples; i++)
        has_segments |= input->samples[i].file == file;
    return has_segments;
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

static void remove_done(const struct standing_import *standing)
{
    const struct log_set *logs = standing_import_logs(standing);

    for (size_t i = 0; logs && i < logs->n_inputs; i++) {
        const struct log_input *input = logs->inputs[i];
        for (size_t k = 1; k < input->n_generations; k++) /* but the last: SK-2 */
            if (is_file_done(standing, input, k) && are_samples_done(standing, logs, i, k))
                unlink(input->files[k]->path);
    }
}

int state_keeper_save(struct state_keeper *keeper, struct standing_import *standing,
                      struct error *err)
{
    const struct log_set *logs = standing_import_logs(standing);
    struct state_writer *writer = NULL;
    int code = 0;

    if (logs && logs->n_inputs && standing_import_n_kept(standing)) {
        code = state_writer_open(keeper->log_path, &logs->inputs[0]->header, &writer, err);
        if (code == 0) {
            struct state_sink sink = state_writer_sink(writer);
            code = standing_import_save(standing, &sink, err);
        }
        if (code == 0)
            code = state_writer_commit(writer, err);
        if (code == 0) {
            keeper->state_bytes = state_writer_bytes(writer);
            remove_done(standing);
        }
        state_writer_close(writer);
    }
    keeper->left_bytes = log_ring_run_bytes(keeper->log_path);
    return code;
}
