/* SPDX-License-Identifier: MIT */
#include "importer/cli/incremental_import.h"

#include "importer/cli/import.h"
#include "importer/read/log_set.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/monotonic.h"

#include <stdlib.h>
#include <string.h>

enum {
    MIN_PROCESSES = 64, /* least spare capacity */
    MIN_THREADS = 256,
    MIN_BACKTRACES = 1 << 16,
    MIN_POOLS = 64,
    MAX_ROWS = 1 << 16, /* of a bounded log, of each kind of event that has one */
};

int incremental_import_open(const struct import_options *options, struct progress *progress,
                            struct incremental_import **ret, struct error *err)
{
    struct incremental_import *incremental = calloc(1, sizeof *incremental);

    if (!incremental)
        return error_set(err, ERROR_NOMEM, "out of memory");
    incremental->options = options;
    incremental->import.options = options;
    incremental->import.progress = progress;
    *ret = incremental;
    return 0;
}

void incremental_import_forget(struct incremental_import *incremental)
{
    struct import *import = &incremental->import;

    incremental->is_lost |= incremental->is_bounded && import->statistics;
    statistics_free(import->statistics);
    row_spool_free(import->kept);
    free(import->samples);
    free(incremental->clocks);
    for (size_t i = 0; i < incremental->n_pasts; i++)
        clock_past_done(&incremental->pasts[i].clock);
    free(incremental->pasts);
    incremental->pasts = NULL;
    incremental->n_pasts = incremental->pasts_capacity = 0;
    incremental->clocks = NULL;
    incremental->n_clocks = incremental->clocks_capacity = 0;
    stream_state_done(&incremental->stream);
    stable_ids_done(&incremental->stable_ids);
    import->statistics = NULL;
    import->kept = NULL;
    import->stream = NULL;
    import->samples = NULL;
    incremental->samples_capacity = 0;
}

void incremental_import_close(struct incremental_import *incremental)
{
    if (!incremental)
        return;
    incremental_import_forget(incremental);
    log_set_close(incremental->import.logs);
    database_blank_done(&incremental->blank);
    free(incremental);
}

bool incremental_import_is_growing(const struct incremental_import *incremental)
{
    return incremental->import.logs && log_set_still_grows(incremental->import.logs);
}

bool incremental_import_is_lost(const struct incremental_import *incremental)
{
    return incremental->is_lost;
}

uint64_t incremental_import_sample_ns(const struct incremental_import *incremental, size_t input)
{
    return incremental->import.samples[input].last_ns;
}

uint32_t incremental_import_first_rotated_number(const struct incremental_import *incremental,
                                                 size_t input)
{
    return input < incremental->n_pasts ? incremental->pasts[input].first_rotated_number : 0;
}

void incremental_import_note_removed(struct incremental_import *incremental, size_t input_index,
                                     uint32_t first)
{
    const struct log_input *input = incremental->import.logs->inputs[input_index];
    struct log_set_past *past = &incremental->pasts[input_index];

    if (input_index >= incremental->n_pasts || first <= past->first_rotated_number)
        return;
    past->n_losses += log_input_n_missing(input, past->first_rotated_number, first);
    for (size_t i = 1; i <= input->n_rotated_logs; i++) {
        const struct log_file_reader *file = input->files[i];
        if (file->rotated_number < past->first_rotated_number || file->rotated_number >= first)
            continue;
        past->n_losses += file->n_losses;
        past->lost_bytes += file->lost_bytes;
    }
    past->first_rotated_number = first;
}

const struct log_set *incremental_import_logs(const struct incremental_import *incremental)
{
    return incremental->import.logs;
}

uint64_t incremental_import_n_kept(const struct incremental_import *incremental)
{
    return incremental->import.statistics ? statistics_n_events(incremental->import.statistics) : 0;
}

/* ---- advancing ---- */

int incremental_import_open_logs(struct incremental_import *incremental, struct error *err)
{
    const struct log_set_options options = {
        .pasts = incremental->pasts,
        .n_pasts = incremental->n_pasts,
        .only = incremental->options->only,
        .keeps_later = true}; /* they have stable ids, which cannot be withdrawn */

    log_set_close(incremental->import.logs);
    incremental->import.logs = NULL;
    int code = log_set_open(incremental->options->logs, incremental->options->n_logs, &options,
                            &incremental->import.logs, err);

    /* while everything is listed: what a cut or log_set_skip_done omits is not removed */
    if (code == 0 && incremental->is_bounded
        && log_set_forget_removed(incremental->import.logs, &incremental->stream) != 0)
        code = error_set(err, ERROR_NOMEM, "out of memory");
    return code;
}

static uint32_t with_room(size_t n, size_t least)
{
    size_t room = n + (n > least ? n : least);

    return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX - 1;
}

int incremental_import_reserve_samples(struct incremental_import *incremental, struct error *err)
{
    struct import *import = &incremental->import;
    struct sample_place *samples =
        dynamic_array_reserve(import->samples, &incremental->samples_capacity,
                              import->logs->n_inputs + 1, sizeof *samples);

    if (!samples)
        return error_set(err, ERROR_NOMEM, "out of memory");
    import->samples = samples;
    return 0;
}

static int take_definitions(struct incremental_import *incremental, bool *ret_is_other,
                            struct error *err)
{
    struct import *import = &incremental->import;

    if (stable_ids_take(&incremental->stable_ids, import->logs->inputs, import->logs->n_inputs,
                        &import->logs->definitions, ret_is_other)
        != 0)
        return error_set(err, ERROR_NOMEM, "out of memory");
    import->ids = (struct statistics_ids){.threads = incremental->stable_ids.thread_ids,
                                          .backtraces = incremental->stable_ids.backtrace_ids,
                                          .pools = incremental->stable_ids.pool_ids};
    import->stream = &incremental->stream;
    return incremental_import_reserve_samples(incremental, err);
}

uint64_t incremental_import_cut_ns(const struct incremental_import *incremental)
{
    const struct import_options *options = incremental->cut;
    const struct log_set *logs = incremental->import.logs;
    struct clock_cursor cursor = {0};
    uint32_t process = options->run_id ? log_set_find_process(logs, options->run_id) : 1;

    if (options->marker_ticks == 0 || process == 0)
        return options->until_ns;
    const struct log_input *input = logs->inputs[process - 1];
    return log_set_time(logs, input, &cursor,
                        options->marker_ticks & UINT64_MAX << input->time_shift)
           >> CLOCK_MAP_FRACTION_BITS;
}

/* The mark in fixed point, at most until_ns, and before the time of a cut. If one program alone
 * requests cuts, later ones have later times. */
static uint64_t mark_before(const struct incremental_import *incremental, uint64_t until_ns)
{
    const struct log_set *logs = incremental->import.logs;
    bool has_limit = incremental->is_bounded || logs->n_inputs > 1;
    uint64_t mark = log_set_watermark(logs, has_limit ? IDLE_TIME_LIMIT_NS : 0);
    uint64_t last_ns = until_ns > logs->origin_ns ? until_ns - logs->origin_ns : 0;
    uint64_t cut_ns = incremental->cut ? incremental_import_cut_ns(incremental) : 0;

    bool is_alone = logs->n_inputs == 1 && !incremental->is_bounded;
    if (cut_ns && (is_alone || cut_ns <= last_ns))
        last_ns = cut_ns - 1;
    if (last_ns > mark >> CLOCK_MAP_FRACTION_BITS)
        return mark;
    return last_ns << CLOCK_MAP_FRACTION_BITS;
}

void incremental_import_be_bounded(struct incremental_import *incremental)
{
    incremental->is_bounded = true;
}

static void at_least(uint32_t *room, uint32_t least)
{
    if (*room < least)
        *room = least;
}

int incremental_import_make_statistics(struct incremental_import *incremental,
                                       const struct statistics_room *least, struct error *err)
{
    struct import *import = &incremental->import;
    const struct definitions *definitions = log_set_definitions(import->logs);
    struct statistics_room room = {
        .n_processes = with_room(definitions->n_processes, MIN_PROCESSES),
        .n_threads = with_room(definitions->n_threads, MIN_THREADS),
        .n_backtraces = with_room(definitions->n_backtraces, MIN_BACKTRACES),
        .n_pools = with_room(definitions->n_pools, MIN_POOLS)};
    int code = import->kept ? 0 : row_spool_new(incremental->options->target, &import->kept, err);

    if (code)
        return code;
    row_spool_bound(import->kept, incremental->is_bounded ? MAX_ROWS : 0);
    at_least(&room.n_processes, least->n_processes);
    at_least(&room.n_threads, least->n_threads);
    at_least(&room.n_backtraces, least->n_backtraces);
    at_least(&room.n_pools, least->n_pools);
    struct row_sink sink = row_spool_sink(import->kept);
    code = statistics_new(definitions, &room, &sink, incremental->options->target,
                          &import->statistics, err);
    if (code == 0)
        code = statistics_keep_moments(import->statistics, err);
    if (code == 0)
        statistics_leave_rows_out(import->statistics);
    if (code == 0 && incremental->is_bounded)
        statistics_bound(import->statistics);
    return code;
}

static int begin(struct incremental_import *incremental, struct error *err)
{
    const struct statistics_room least = {0};
    bool is_other;
    int code = take_definitions(incremental, &is_other, err);

    return code ? code : incremental_import_make_statistics(incremental, &least, err);
}

/* Skips samples that were written after events with a later time. */
static int skip_late_samples(struct incremental_import *incremental, struct error *err)
{
    struct import *import = &incremental->import;
    struct sample_stream *samples;
    int code = sample_stream_open(import->logs, import->samples, &samples, err);

    for (uint32_t id = 1; code == 0 && id <= import->logs->n_inputs; id++) {
        uint64_t event_ns = statistics_event_ns(import->statistics, id);
        if (event_ns && sample_stream_time(samples, id) <= event_ns)
            import->samples[id - 1] =
                (struct sample_place){.last_ns = import->logs->origin_ns + event_ns,
                                      .n_at = UINT64_MAX,
                                      .is_by_time = true};
    }
    if (code == 0)
        sample_stream_close(samples);
    return code;
}

/* Thinned clocks have another digest. */
static void digest_pasts(struct incremental_import *incremental)
{
    for (size_t i = 0; i < incremental->n_clocks && i < incremental->n_pasts; i++)
        if (incremental->pasts[i].clock.n_pairs)
            incremental->clocks[i].digest =
                clock_past_digest(&incremental->pasts[i].clock, incremental->clocks[i].final_ticks);
}

/* LI-3: until the first segment of a log is packed, all readings are present but may still be
 * rounded. */
static bool is_rounded(const struct log_input *input)
{
    return input->has_time_shift || input->n_files == 1;
}

/* Time up to which events were imported, on the log's clock. If the log is complete, no further
 * readings can change it. */
static uint64_t absolute_mark(const struct incremental_import *incremental,
                              const struct log_input *input)
{
    uint64_t origin = incremental->import.logs->origin_ns << CLOCK_MAP_FRACTION_BITS;

    return !input->is_growing || incremental->stream.mark > UINT64_MAX - origin
               ? UINT64_MAX
               : incremental->stream.mark + origin;
}

int incremental_import_take_pasts(struct incremental_import *incremental, struct error *err)
{
    const struct log_set *logs = incremental->import.logs;
    struct log_set_past *pasts = dynamic_array_reserve(
        incremental->pasts, &incremental->pasts_capacity, logs->n_inputs + 1, sizeof *pasts);

    if (!pasts)
        return error_set(err, ERROR_NOMEM, "out of memory");
    incremental->pasts = pasts;
    incremental->n_pasts = logs->n_inputs;
    for (size_t i = 0; i < logs->n_inputs; i++) {
        const struct clock_map *clock = &logs->inputs[i]->clock;
        uint64_t mark = absolute_mark(incremental, logs->inputs[i]);
        pasts[i].run_id = logs->inputs[i]->header.run_id;
        pasts[i].has_time_shift = logs->inputs[i]->has_time_shift;
        pasts[i].time_shift = logs->inputs[i]->time_shift;
        if ((is_rounded(logs->inputs[i]) || clock_past_is_due(clock, mark))
            && clock_past_take(&pasts[i].clock, clock, mark) != 0)
            return error_set(err, ERROR_NOMEM, "out of memory");
    }
    digest_pasts(incremental);
    return 0;
}

static int keep_clocks(struct incremental_import *incremental, struct error *err)
{
    const struct log_set *logs = incremental->import.logs;
    struct kept_clock *clocks = dynamic_array_reserve(
        incremental->clocks, &incremental->clocks_capacity, logs->n_inputs, sizeof *clocks);

    if (!clocks)
        return error_set(err, ERROR_NOMEM, "out of memory");
    incremental->clocks = clocks;
    incremental->n_clocks = logs->n_inputs;
    for (size_t i = 0; i < logs->n_inputs; i++) {
        const struct clock_map *clock = &logs->inputs[i]->clock;
        uint64_t final_ticks = is_rounded(logs->inputs[i]) ? clock->final_ticks : 0;
        clocks[i] = (struct kept_clock){final_ticks, clock_map_digest(clock, final_ticks)};
    }
    return incremental->is_bounded ? incremental_import_take_pasts(incremental, err) : 0;
}

static bool are_clocks_kept(const struct incremental_import *incremental)
{
    const struct log_set *logs = incremental->import.logs;

    for (size_t i = 0; i < incremental->n_clocks && i < logs->n_inputs; i++)
        if (clock_map_digest(&logs->inputs[i]->clock, incremental->clocks[i].final_ticks)
            != incremental->clocks[i].digest)
            return false;
    return true;
}

/* Keeps the first reason. */
static void note_other(struct incremental_import *incremental, bool is_other, const char *why)
{
    if (is_other && !incremental->why)
        incremental->why = why;
}

/* From here on the statistics refer to the current definitions; the previous ones are freed. */
static int go_on(struct incremental_import *incremental, bool *ret_is_other, struct error *err)
{
    struct import *import = &incremental->import;
    int code = take_definitions(incremental, ret_is_other, err);

    note_other(incremental, *ret_is_other, "its definitions have changed");
    if (code == 0 && !*ret_is_other)
        *ret_is_other = !are_clocks_kept(incremental);
    note_other(incremental, *ret_is_other, "a reading of the clocks came late");
    if (code == 0 && !*ret_is_other)
        *ret_is_other = !statistics_continue(import->statistics, log_set_definitions(import->logs),
                                             &import->ids);
    note_other(incremental, *ret_is_other,
               "its processes have changed, or there is no room for more");
    if (code == 0 && !*ret_is_other)
        code = skip_late_samples(incremental, err);
    if (code == 0 && !*ret_is_other)
        log_set_skip_done(import->logs, import->stream);
    return code;
}

static int read_to_mark(struct incremental_import *incremental, uint64_t until_ns,
                        struct error *err)
{
    struct import *import = &incremental->import;
    uint64_t mark = mark_before(incremental, until_ns);

    if (mark == UINT64_MAX || mark <= incremental->stream.mark)
        return 0;
    progress_begin(import->progress, "reading", "events");
    int code = import_read(import, mark, err);
    progress_end(import->progress, statistics_n_events(import->statistics));
    for (size_t i = 0; i < import->logs->n_inputs; i++)
        import->samples[i].is_by_time = true;
    log_set_skip_done(import->logs, import->stream);
    return code ? code : keep_clocks(incremental, err);
}

static int advance_once(struct incremental_import *incremental, uint64_t until_ns,
                        bool *ret_is_other, struct error *err)
{
    int code = incremental->keeps_logs ? 0 : incremental_import_open_logs(incremental, err);

    *ret_is_other = false;
    incremental->keeps_logs = false;
    incremental->why = NULL;
    if (code || incremental->import.logs->heaptrack) /* nothing of that is kept */
        return code;
    if (incremental->is_bounded) /* not urgent */
        log_set_be_frugal(incremental->import.logs);
    code = incremental->import.statistics ? go_on(incremental, ret_is_other, err)
                                          : begin(incremental, err);
    return code || *ret_is_other ? code : read_to_mark(incremental, until_ns, err);
}

int incremental_import_advance(struct incremental_import *incremental, uint64_t until_ns,
                               struct error *err)
{
    bool is_other = false;
    int code = incremental->is_lost
                   ? error_set(err, ERROR_FORMAT, "the imported part of the recording was lost")
                   : advance_once(incremental, until_ns, &is_other, err);

    if (code == 0 && is_other && !incremental->is_bounded) {
        incremental_import_forget(incremental);
        code = advance_once(incremental, until_ns, &is_other, err);
    }
    if (code == 0 && is_other)
        code = error_set(err, ERROR_FORMAT, "the recording does not continue its checkpoint: %s",
                         incremental->why);
    if (code)
        incremental_import_forget(incremental);
    return code;
}
