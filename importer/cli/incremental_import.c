/* SPDX-License-Identifier: MIT */
#include "importer/cli/incremental_import.h"

#include "importer/cli/import.h"
#include "importer/cli/standing_import_parts.h"
#include "importer/read/log_set_parts.h"
#include "lib/base/dynamic_array.h"
#include "lib/process/own_cpu.h"

#include <stdlib.h>
#include <string.h>

enum {
    MIN_PROCESSES = 64, /* room for as many more, at least */
    MIN_THREADS = 256,
    MIN_NODES = 1 << 16,
    MIN_POOLS = 64,
    MOST_WARY_STEPS = 4,
};

static const struct statistics_limits sole_limits = {.extents = 1 << 14,
                                                     .windows = 1 << 14,
                                                     .phases = 1 << 14,
                                                     .pairs = 32,
                                                     .walks = 1 << 18,
                                                     .rows = 1 << 16};

#define WARY_STEP_NS UINT64_C(1000000000)

int incremental_import_open(const struct import_options *options, struct progress *progress,
                            struct incremental_import **ret, struct error *err)
{
    struct incremental_import *standing = calloc(1, sizeof *standing);

    if (!standing)
        return error_set(err, ERROR_NOMEM, "out of memory");
    standing->options = options;
    standing->import.options = options;
    standing->import.progress = progress;
    *ret = standing;
    return 0;
}

void incremental_import_leave_rows_out(struct incremental_import *standing)
{
    standing->has_no_rows = true;
}

void incremental_import_forget(struct incremental_import *standing)
{
    struct import *import = &standing->import;

    statistics_free(import->facts);
    row_spool_free(import->kept);
    free(import->samples);
    free(standing->clocks);
    for (size_t i = 0; i < standing->n_pasts; i++)
        clock_past_done(&standing->pasts[i].clock);
    free(standing->pasts);
    standing->pasts = NULL;
    standing->n_pasts = standing->pasts_capacity = 0;
    standing->clocks = NULL;
    standing->n_clocks = standing->clocks_capacity = 0;
    stream_state_done(&standing->stream);
    stable_ids_done(&standing->numbering);
    import->facts = NULL;
    import->kept = NULL;
    import->stream = NULL;
    import->samples = NULL;
    standing->samples_capacity = 0;
}

void incremental_import_close(struct incremental_import *standing)
{
    if (!standing)
        return;
    incremental_import_forget(standing);
    log_set_close(standing->import.logs);
    database_blank_done(&standing->whole);
    database_blank_done(&standing->lean);
    state_memo_done(&standing->memo);
    free(standing);
}

bool incremental_import_is_growing(const struct incremental_import *standing)
{
    return standing->import.logs && log_set_still_grows(standing->import.logs);
}

bool incremental_import_is_lost(const struct incremental_import *standing)
{
    return standing->is_sole && !standing->import.facts && standing->n_beginnings;
}

uint64_t incremental_import_sample_ns(const struct incremental_import *standing, size_t input)
{
    return standing->import.samples[input].last_ns;
}

uint32_t incremental_import_first_generation(const struct incremental_import *standing,
                                             size_t input)
{
    return input < standing->n_pasts ? standing->pasts[input].first_generation : 0;
}

void incremental_import_note_gone(struct incremental_import *standing, size_t input_index,
                                  uint32_t first)
{
    const struct log_input *input = standing->import.logs->inputs[input_index];
    struct log_set_past *past = &standing->pasts[input_index];

    if (input_index >= standing->n_pasts || first <= past->first_generation)
        return;
    past->n_losses += log_input_n_missing(input, past->first_generation, first);
    for (size_t i = 1; i <= input->n_generations; i++) {
        const struct log_file_reader *file = input->files[i];
        if (file->generation < past->first_generation || file->generation >= first)
            continue;
        past->n_losses += file->n_losses;
        past->lost_bytes += file->lost_bytes;
    }
    past->first_generation = first;
}

const struct log_set *incremental_import_logs(const struct incremental_import *standing)
{
    return standing->import.logs;
}

unsigned incremental_import_n_beginnings(const struct incremental_import *standing)
{
    return standing->n_beginnings;
}

void incremental_import_keep_logs(struct incremental_import *standing)
{
    standing->keeps_logs = true;
}

int incremental_import_hold_logs(struct incremental_import *standing, struct error *err)
{
    return log_set_hold_pools(standing->import.logs, err);
}

uint64_t incremental_import_opening_ns(const struct incremental_import *standing)
{
    return standing->opening_ns;
}

uint64_t incremental_import_n_kept(const struct incremental_import *standing)
{
    return standing->import.facts ? statistics_n_events(standing->import.facts) : 0;
}

/* ---- advancing ---- */

int incremental_import_open_logs(struct incremental_import *standing, struct error *err)
{
    const struct log_set_options options = {
        .pasts = standing->pasts,
        .n_pasts = standing->n_pasts,
        .only = standing->options->only,
        .keeps_later = standing->is_sole}; /* they have numbers, which nobody can take back */

    log_set_close(standing->import.logs);
    standing->import.logs = NULL;
    int code = log_set_open(standing->options->logs, standing->options->n_logs, &options,
                            &standing->import.logs, err);

    /* now, as all is listed: what a cut or log_set_skip_done leaves out is not gone */
    if (code == 0 && standing->is_sole
        && log_set_forget_gone(standing->import.logs, &standing->stream) != 0)
        code = error_set(err, ERROR_NOMEM, "out of memory");
    return code;
}

bool incremental_import_is_fit(const struct incremental_import *standing)
{
    const struct log_set *logs = standing->import.logs;

    return !standing->is_unfit && !logs->heaptrack;
}

static uint32_t with_room(size_t n, size_t least)
{
    size_t room = n + (n > least ? n : least);

    return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX - 1;
}

int incremental_import_reserve_samples(struct incremental_import *standing, struct error *err)
{
    struct import *import = &standing->import;
    struct sample_place *samples = dynamic_array_reserve(
        import->samples, &standing->samples_capacity, import->logs->n_inputs + 1, sizeof *samples);

    if (!samples)
        return error_set(err, ERROR_NOMEM, "out of memory");
    import->samples = samples;
    return 0;
}

static int take_definitions(struct incremental_import *standing, bool *ret_is_other,
                            struct error *err)
{
    struct import *import = &standing->import;

    if (stable_ids_take(&standing->numbering, import->logs->inputs, import->logs->n_inputs,
                        &import->logs->definitions, ret_is_other)
        != 0)
        return error_set(err, ERROR_NOMEM, "out of memory");
    import->ids = (struct statistics_ids){.threads = standing->numbering.thread_ids,
                                          .backtraces = standing->numbering.backtrace_ids,
                                          .pools = standing->numbering.pool_ids};
    import->stream = &standing->stream;
    return incremental_import_reserve_samples(standing, err);
}

/* Where threads are held up for longer than was thought, which made us begin anew, they will be again. */
static uint64_t wary_mark(const struct incremental_import *standing)
{
    uint64_t mark = log_set_mark(standing->import.logs, standing->is_sole ? SOLE_PATIENCE_NS : 0);
    uint64_t n_anew = standing->n_beginnings > 1 ? standing->n_beginnings - 1 : 0;
    uint64_t more = (n_anew < MOST_WARY_STEPS ? n_anew : MOST_WARY_STEPS) * WARY_STEP_NS
                    << CLOCK_MAP_FRACTION_BITS;

    if (mark == UINT64_MAX)
        return mark;
    return mark > more ? mark - more : 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* In fixed point, at most until_ns. */
static uint64_t mark_before(const struct incremental_import *standing, uint64_t until_ns)
{
    const struct log_set *logs = standing->import.logs;
    uint64_t mark = later(wary_mark(standing), standing->sure_mark);
    uint64_t last_ns = until_ns > logs->origin_ns ? until_ns - logs->origin_ns : 0;

    if (until_ns == UINT64_MAX || last_ns > mark >> CLOCK_MAP_FRACTION_BITS)
        return mark;
    return last_ns << CLOCK_MAP_FRACTION_BITS;
}

void incremental_import_take_pieces(struct incremental_import *standing, uint64_t n_bytes)
{
    standing->most_bytes = n_bytes;
}

bool incremental_import_is_behind(const struct incremental_import *standing)
{
    return standing->is_behind;
}

void incremental_import_be_sole(struct incremental_import *standing,
                                const struct statistics_limits *limits)
{
    standing->is_sole = true;
    standing->limits = limits ? *limits : sole_limits;
}

static void at_least(uint32_t *room, uint32_t least)
{
    if (*room < least)
        *room = least;
}

int incremental_import_make_facts(struct incremental_import *standing,
                                  const struct statistics_room *least, struct error *err)
{
    struct import *import = &standing->import;
    const struct definitions *definitions = log_set_definitions(import->logs);
    struct statistics_room room = {.n_processes =
                                       with_room(definitions->n_processes, MIN_PROCESSES),
                                   .n_threads = with_room(definitions->n_threads, MIN_THREADS),
                                   .n_nodes = with_room(definitions->n_backtraces, MIN_NODES),
                                   .n_pools = with_room(definitions->n_pools, MIN_POOLS)};
    int code = import->kept ? 0 : row_spool_new(standing->options->target, &import->kept, err);

    if (code)
        return code;
    row_spool_bound(import->kept, standing->limits.rows);
    at_least(&room.n_processes, least->n_processes);
    at_least(&room.n_threads, least->n_threads);
    at_least(&room.n_nodes, least->n_nodes);
    at_least(&room.n_pools, least->n_pools);
    struct row_sink sink = row_spool_sink(import->kept);
    code =
        statistics_new(definitions, &room, &sink, standing->options->target, &import->facts, err);
    if (code == 0)
        code = statistics_keep_moments(import->facts, err);
    if (code == 0 && standing->has_no_rows)
        statistics_leave_rows_out(import->facts);
    if (code == 0)
        statistics_bound(import->facts, &standing->limits);
    return code;
}

static int begin(struct incremental_import *standing, struct error *err)
{
    const struct statistics_room least = {0};
    bool is_other;
    int code = take_definitions(standing, &is_other, err);

    standing->n_beginnings++;
    return code ? code : incremental_import_make_facts(standing, &least, err);
}

/* A sample that was written after events that it was taken before. */
static int find_late_sample(struct incremental_import *standing, bool *ret_is_late,
                            struct error *err)
{
    struct import *import = &standing->import;
    struct sample_stream *samples;
    int code = sample_stream_open(import->logs, import->samples, &samples, err);

    for (uint32_t id = 1; code == 0 && id <= import->logs->n_inputs; id++) {
        uint64_t event_ns = statistics_event_ns(import->facts, id);
        if (!event_ns || sample_stream_time(samples, id) > event_ns)
            continue;
        *ret_is_late |= !standing->is_sole;
        if (standing->is_sole) /* those are left out */
            import->samples[id - 1] =
                (struct sample_place){.last_ns = import->logs->origin_ns + event_ns,
                                      .n_at = UINT64_MAX,
                                      .is_by_time = true};
    }
    if (code == 0)
        sample_stream_close(samples);
    return code;
}

/* What was made coarser has another digest. */
static void digest_pasts(struct incremental_import *standing)
{
    for (size_t i = 0; i < standing->n_clocks && i < standing->n_pasts; i++)
        if (standing->pasts[i].clock.n_pairs)
            standing->clocks[i].digest =
                clock_past_digest(&standing->pasts[i].clock, standing->clocks[i].final_ticks);
}

/* LI-4: of a log whose first segment is still to be packed all readings are there, and may change by a rounding. */
static bool is_rounded(const struct log_input *input)
{
    return input->has_time_shift || input->n_files == 1;
}

/* Up to when events were taken in, as the map of its clock has it. Where nothing is read any more all readings have had their say. */
static uint64_t absolute_mark(const struct incremental_import *standing,
                              const struct log_input *input)
{
    uint64_t origin = standing->import.logs->origin_ns << CLOCK_MAP_FRACTION_BITS;

    return !input->is_growing || standing->stream.mark > UINT64_MAX - origin
               ? UINT64_MAX
               : standing->stream.mark + origin;
}

int incremental_import_take_pasts(struct incremental_import *standing, struct error *err)
{
    const struct log_set *logs = standing->import.logs;
    struct log_set_past *pasts = dynamic_array_reserve(standing->pasts, &standing->pasts_capacity,
                                                       logs->n_inputs + 1, sizeof *pasts);

    if (!pasts)
        return error_set(err, ERROR_NOMEM, "out of memory");
    standing->pasts = pasts;
    standing->n_pasts = logs->n_inputs;
    for (size_t i = 0; i < logs->n_inputs; i++) {
        const struct clock_map *clock = &logs->inputs[i]->clock;
        uint64_t mark = absolute_mark(standing, logs->inputs[i]);
        pasts[i].run_id = logs->inputs[i]->header.run_id;
        pasts[i].has_time_shift = logs->inputs[i]->has_time_shift;
        pasts[i].time_shift = logs->inputs[i]->time_shift;
        if ((is_rounded(logs->inputs[i]) || clock_past_is_due(clock, mark))
            && clock_past_take(&pasts[i].clock, clock, mark) != 0)
            return error_set(err, ERROR_NOMEM, "out of memory");
    }
    digest_pasts(standing);
    return 0;
}

static int keep_clocks(struct incremental_import *standing, struct error *err)
{
    const struct log_set *logs = standing->import.logs;
    struct kept_clock *clocks = dynamic_array_reserve(standing->clocks, &standing->clocks_capacity,
                                                      logs->n_inputs, sizeof *clocks);

    if (!clocks)
        return error_set(err, ERROR_NOMEM, "out of memory");
    standing->clocks = clocks;
    standing->n_clocks = logs->n_inputs;
    for (size_t i = 0; i < logs->n_inputs; i++) {
        const struct clock_map *clock = &logs->inputs[i]->clock;
        uint64_t final_ticks =
            is_rounded(logs->inputs[i]) ? later(clock->final_ticks, standing->final_ticks) : 0;
        clocks[i] = (struct kept_clock){final_ticks, clock_map_digest(clock, final_ticks)};
    }
    return standing->is_sole ? incremental_import_take_pasts(standing, err) : 0;
}

static bool are_clocks_kept(const struct incremental_import *standing)
{
    const struct log_set *logs = standing->import.logs;

    for (size_t i = 0; i < standing->n_clocks && i < logs->n_inputs; i++)
        if (clock_map_digest(&logs->inputs[i]->clock, standing->clocks[i].final_ticks)
            != standing->clocks[i].digest)
            return false;
    return true;
}

/* Nothing can begin anew where segments may be gone. */
int incremental_import_fail_sole(const struct incremental_import *standing, struct error *err)
{
    return error_set(err, ERROR_FORMAT,
                     "the recording is not the continuation of its state any more: %s",
                     standing->why ? standing->why : "a part of it is missing, or was added late");
}

/* The first reason counts. */
static void note_other(struct incremental_import *standing, bool is_other, const char *why)
{
    if (is_other && !standing->why)
        standing->why = why;
}

static bool can_continue(const struct incremental_import *standing)
{
    const struct import *import = &standing->import;

    return statistics_continue(import->facts, log_set_definitions(import->logs), &import->ids,
                               standing->is_sole);
}

/* From here on the facts know the definitions of now, be it that they need more room for them: those of before are gone. */
static int continue_facts(struct incremental_import *standing, bool *ret_is_other,
                          struct error *err)
{
    int code = 0;

    *ret_is_other = !can_continue(standing);
    if (*ret_is_other && standing->is_sole) {
        code = incremental_import_make_room(standing, err);
        *ret_is_other = code == 0 && !can_continue(standing);
    }
    return code;
}

/* *ret_is_other: what is kept is not the beginning of the log any more. */
int incremental_import_go_on(struct incremental_import *standing, bool *ret_is_other,
                             struct error *err)
{
    struct import *import = &standing->import;
    int code = take_definitions(standing, ret_is_other, err);

    standing->stream.is_sole = standing->is_sole;
    note_other(standing, *ret_is_other, "what it defines is not what it was");
    if (code == 0 && !*ret_is_other)
        *ret_is_other = !are_clocks_kept(standing);
    note_other(standing, *ret_is_other, "a reading of the clocks came late");
    if (code == 0 && !*ret_is_other)
        code = continue_facts(standing, ret_is_other, err);
    note_other(standing, *ret_is_other,
               "its processes are not what they were, or there is no room for more");
    if (code == 0 && !*ret_is_other)
        code = find_late_sample(standing, ret_is_other, err);
    note_other(standing, *ret_is_other, "a sample of its memory came late");
    if (code == 0 && !*ret_is_other)
        log_set_skip_done(import->logs, import->stream);
    return code;
}

static uint64_t piece_before(struct incremental_import *standing, uint64_t mark)
{
    uint64_t end =
        standing->most_bytes
            ? log_set_piece_end(standing->import.logs, standing->stream.mark, standing->most_bytes)
            : UINT64_MAX;

    standing->is_behind = end < mark;
    return standing->is_behind ? end : mark;
}

int incremental_import_read_to_mark(struct incremental_import *standing, uint64_t until_ns,
                                    bool *ret_is_other, struct error *err)
{
    struct import *import = &standing->import;
    uint64_t mark = piece_before(standing, mark_before(standing, until_ns));

    if (mark == UINT64_MAX || mark <= standing->stream.mark)
        return 0;
    progress_begin(import->progress, "reading", "events");
    int code = import_read(import, mark, err);
    progress_end(import->progress, statistics_n_events(import->facts));
    for (size_t i = 0; standing->is_sole && i < import->logs->n_inputs; i++)
        import->samples[i].is_by_time = true;
    *ret_is_other = standing->stream.is_late || standing->stream.has_damage;
    note_other(standing, standing->stream.is_late, "events came late");
    note_other(standing, standing->stream.has_damage, "a part cannot be read");
    standing->is_unfit |= standing->stream.has_damage;
    if (!*ret_is_other)
        log_set_skip_done(import->logs, import->stream);
    if (code == 0 && !*ret_is_other)
        code = keep_clocks(standing, err);
    return *ret_is_other ? 0 : code;
}

static int try_advance(struct incremental_import *standing, uint64_t until_ns, bool *ret_is_other,
                       struct error *err)
{
    uint64_t began_ns = own_cpu_ns();
    int code = standing->keeps_logs ? 0 : incremental_import_open_logs(standing, err);

    standing->keeps_logs = false;
    standing->sure_mark = standing->final_ticks = 0;
    standing->is_behind = false;
    if (code == 0 && standing->most_bytes) /* who takes pieces has no haste */
        log_set_be_frugal(standing->import.logs);
    if (code || !incremental_import_is_fit(standing))
        return code;
    if (standing->is_sole && !standing->import.facts && standing->n_beginnings)
        return incremental_import_fail_sole(standing, err);
    code = standing->import.facts ? incremental_import_go_on(standing, ret_is_other, err)
                                  : begin(standing, err);
    standing->opening_ns += own_cpu_ns() - began_ns;
    return code || *ret_is_other
               ? code
               : incremental_import_read_to_mark(standing, until_ns, ret_is_other, err);
}

int incremental_import_advance(struct incremental_import *standing, uint64_t until_ns,
                               struct error *err)
{
    int code;
    bool is_other;

    standing->opening_ns = 0;
    do { /* a second time at most: what begins anew finds nothing that is other, or is unfit */
        is_other = false;
        code = try_advance(standing, until_ns, &is_other, err);
        if (code == 0 && standing->is_sole && (is_other || !incremental_import_is_fit(standing)))
            code = incremental_import_fail_sole(standing, err);
        if (code || is_other || !incremental_import_is_fit(standing))
            incremental_import_forget(standing);
    } while (code == 0 && is_other);
    return code;
}
