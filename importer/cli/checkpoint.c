/* SPDX-License-Identifier: MIT */
/* The checkpoint of an incremental import: results so far, and what is needed to continue. */
#include "importer/cli/incremental_import.h"
#include "importer/read/log_set.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

bool incremental_import_is_done(const struct incremental_import *incremental, uint64_t run_id,
                                uint64_t sequence)
{
    const struct segment_position *position =
        stream_state_find(&incremental->stream, run_id, sequence);

    return position && position->is_done;
}

/* ---- what is visited ---- */

/* Data needed to construct the rest: capacities and clocks. */
static void visit_head(struct incremental_import *incremental, struct statistics_room *room,
                       struct checkpoint_io *io)
{
    checkpoint_io_u32(io, &room->n_processes);
    checkpoint_io_u32(io, &room->n_threads);
    checkpoint_io_u32(io, &room->n_backtraces);
    checkpoint_io_u32(io, &room->n_pools);
    incremental->clocks = checkpoint_io_array(io, incremental->clocks, &incremental->n_clocks,
                                              &incremental->clocks_capacity, CHECKPOINT_MAX,
                                              sizeof *incremental->clocks);
}

static void visit_pasts(struct incremental_import *incremental, struct checkpoint_io *io)
{
    size_t n = incremental->n_pasts;

    checkpoint_io_count(io, &n, CHECKPOINT_MAX);
    for (size_t i = 0; i < n && checkpoint_io_code(io) == 0; i++) {
        struct log_set_past *pasts = dynamic_array_reserve(
            incremental->pasts, &incremental->pasts_capacity, i + 1, sizeof *pasts);
        if (!pasts) {
            checkpoint_io_no_memory(io);
            return;
        }
        incremental->pasts = pasts;
        if (incremental->n_pasts <= i)
            incremental->n_pasts = i + 1;
        checkpoint_io_u64(io, &pasts[i].run_id);
        checkpoint_io_bool(io, &pasts[i].has_time_shift);
        checkpoint_io_u32(io, &pasts[i].time_shift);
        checkpoint_io_u32(io, &pasts[i].first_rotated_number);
        checkpoint_io_u64(io, &pasts[i].n_losses);
        checkpoint_io_u64(io, &pasts[i].lost_bytes);
        clock_past_visit(&pasts[i].clock, io);
    }
}

/* Visits the sample positions, by process - 1. */
static void visit_places(struct incremental_import *incremental, struct checkpoint_io *io)
{
    size_t most = incremental->import.logs->n_inputs;
    size_t n = most;

    checkpoint_io_count(io, &n, most);
    for (size_t i = 0; i < n; i++) {
        struct sample_place *place = &incremental->import.samples[i];
        checkpoint_io_u64(io, &place->last_ns);
        checkpoint_io_u64(io, &place->n_at);
        place->is_by_time = true;
    }
}

static void visit_rest(struct incremental_import *incremental, struct checkpoint_io *io)
{
    struct import *import = &incremental->import;
    const struct definitions *definitions = log_set_definitions(import->logs);
    const struct statistics_room *room = statistics_room(import->statistics);
    const struct stable_ids_most most = {.n_logs = import->logs->n_inputs,
                                         .n_threads = definitions->n_threads,
                                         .n_backtraces = definitions->n_backtraces,
                                         .n_pools = definitions->n_pools,
                                         .n_groups = definitions->n_groups,
                                         .room = {.n_threads = room->n_threads,
                                                  .n_backtraces = room->n_backtraces,
                                                  .n_pools = room->n_pools}};

    visit_places(incremental, io);
    stream_state_visit(&incremental->stream, io);
    stable_ids_visit(&incremental->stable_ids, &most, io);
    statistics_visit(import->statistics, io);
    row_spool_visit(import->kept, io);
}

/* ---- saving ---- */

int incremental_import_save(struct incremental_import *incremental,
                            const struct checkpoint_io_sink *sink, struct error *err)
{
    struct checkpoint_io *io = NULL;
    struct statistics_room room;
    int code;

    if (!incremental->import.statistics)
        return error_set(err, ERROR_FORMAT, "nothing is kept of the recording that could be saved");
    code = incremental_import_take_pasts(incremental, err);
    if (code == 0)
        code = checkpoint_io_save(sink, &io, err);
    if (code == 0) {
        room = *statistics_room(incremental->import.statistics);
        visit_head(incremental, &room, io);
        visit_pasts(incremental, io);
        visit_rest(incremental, io);
        code = checkpoint_io_end(io);
    }
    checkpoint_io_close(io);
    return code;
}

/* ---- loading ---- */

/* Every log that the checkpoint has data of must exist: without one its numbers are meaningless. */
static int check_logs(const struct incremental_import *incremental, struct error *err)
{
    const struct log_set *logs = incremental->import.logs;
    size_t n_missing = 0;

    for (size_t k = 0; k < incremental->n_pasts; k++) {
        size_t i = 0;
        while (i < logs->n_inputs && logs->inputs[i]->header.run_id != incremental->pasts[k].run_id)
            i++;
        n_missing += i == logs->n_inputs;
    }
    return n_missing ? error_set(
               err, ERROR_NOT_FOUND,
               "%zu of the %zu logs of this run (exec successors and children) are missing or "
               "cannot be read: the checkpoint covers all of them, so put them back beside '%s'",
               n_missing, incremental->n_pasts, incremental->options->logs[0])
                     : 0;
}

/* The log must be open first, and that requires its clocks. */
static int load_head(struct incremental_import *incremental, struct statistics_room *room,
                     struct checkpoint_io *io, struct error *err)
{
    visit_head(incremental, room, io);
    visit_pasts(incremental, io);
    if (checkpoint_io_code(io))
        return checkpoint_io_code(io);
    int code = incremental_import_open_logs(incremental, err);
    if (code == 0)
        code = check_logs(incremental, err);
    if (code)
        return code;
    const struct definitions *definitions = log_set_definitions(incremental->import.logs);
    checkpoint_io_check(io,
                        room->n_threads / 4 <= definitions->n_threads + UINT16_MAX
                            && room->n_backtraces / 4 <= definitions->n_backtraces + UINT16_MAX
                            && room->n_processes / 4 <= definitions->n_processes + UINT16_MAX
                            && room->n_pools / 4 <= definitions->n_pools + UINT16_MAX,
                        "it needs more room than the log has names");
    return checkpoint_io_code(io);
}

static int load(struct incremental_import *incremental, struct checkpoint_io *io, struct error *err)
{
    struct statistics_room room = {0};
    int code = load_head(incremental, &room, io, err);

    if (code == 0)
        code = incremental_import_reserve_samples(incremental, err);
    if (code == 0)
        code = incremental_import_make_statistics(incremental, &room, err);
    if (code)
        return code;
    visit_rest(incremental, io);
    incremental->import.stream = &incremental->stream;
    return checkpoint_io_end(io);
}

int incremental_import_load(struct incremental_import *incremental,
                            const struct checkpoint_io_source *source, struct error *err)
{
    struct checkpoint_io *io = NULL;
    int code = checkpoint_io_load(source, &incremental->stable_ids.texts, &io, err);

    incremental->is_bounded = true;
    if (code == 0)
        code = load(incremental, io, err);
    checkpoint_io_close(io);
    if (code)
        incremental_import_forget(incremental);
    return code;
}
