/* SPDX-License-Identifier: MIT */
#include "importer/command/standing_import.h"

#include "importer/command/import.h"
#include "importer/command/standing_import_parts.h"
#include "importer/events/log_set_parts.h"
#include "support/growing.h"
#include "support/own_cpu.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MIN_PROCESSES = 64, /* room for as many more, at least */
    MIN_THREADS = 256,
    MIN_NODES = 1 << 16,
    MIN_POOLS = 64,
    MOST_WARY_STEPS = 4,
};

static const struct facts_limits sole_limits = {.extents = 1 << 14,
                                                .windows = 1 << 14,
                                                .phases = 1 << 14,
                                                .pairs = 32,
                                                .walks = 1 << 18,
                                                .rows = 1 << 16};

#define WARY_STEP_NS UINT64_C(1000000000)

int standing_import_open(const struct import_options *options, struct progress *progress,
                         struct standing_import **ret, struct error *err)
{
    struct standing_import *standing = calloc(1, sizeof *standing);

    if (!standing)
        return error_set(err, ERROR_NOMEM, "out of memory");
    standing->options = options;
    standing->import.options = options;
    standing->import.progress = progress;
    *ret = standing;
    return 0;
}

void standing_import_leave_rows_out(struct standing_import *standing)
{
    standing->has_no_rows = true;
}

void standing_import_forget(struct standing_import *standing)
{
    struct import *import = &standing->import;

    facts_free(import->facts);
    kept_facts_free(import->kept);
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
    numbering_done(&standing->numbering);
    import->facts = NULL;
    import->kept = NULL;
    import->stream = NULL;
    import->samples = NULL;
    standing->samples_capacity = 0;
}

void standing_import_close(struct standing_import *standing)
{
    if (!standing)
        return;
    standing_import_forget(standing);
    log_set_close(standing->import.logs);
    database_blank_done(&standing->blank);
    free(standing);
}

bool standing_import_is_growing(const struct standing_import *standing)
{
    return standing->import.logs && log_set_still_grows(standing->import.logs);
}

uint64_t standing_import_sample_ns(const struct standing_import *standing, size_t input)
{
    return standing->import.samples[input].last_ns;
}

uint32_t standing_import_first_generation(const struct standing_import *standing, size_t input)
{
    return input < standing->n_pasts ? standing->pasts[input].first_generation : 0;
}

void standing_import_note_gone(struct standing_import *standing, size_t input_index, uint32_t first)
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

const struct log_set *standing_import_logs(const struct standing_import *standing)
{
    return standing->import.logs;
}

unsigned standing_import_n_beginnings(const struct standing_import *standing)
{
    return standing->n_beginnings;
}

void standing_import_keep_logs(struct standing_import *standing)
{
    standing->keeps_logs = true;
}

uint64_t standing_import_opening_ns(const struct standing_import *standing)
{
    return standing->opening_ns;
}

uint64_t standing_import_n_kept(const struct standing_import *standing)
{
    return standing->import.facts ? facts_n_events(standing->import.facts) : 0;
}

/* ---- advancing ---- */

int standing_import_open_logs(struct standing_import *standing, struct error *err)
{
    const struct log_set_options options = {
        .pasts = standing->pasts, .n_pasts = standing->n_pasts, .only = standing->options->only};

    log_set_close(standing->import.logs);
    standing->import.logs = NULL;
    return log_set_open(standing->options->logs, standing->options->n_logs, &options,
                        &standing->import.logs, err);
}

static bool is_fit(const struct standing_import *standing)
{
    const struct log_set *logs = standing->import.logs;

    return !standing->is_unfit && !logs->heaptrack;
}

static uint32_t with_room(size_t n, size_t least)
{
    size_t room = n + (n > least ? n : least);

    return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX - 1;
}

int standing_import_reserve_samples(struct standing_import *standing, struct error *err)
{
    struct import *import = &standing->import;
    struct sample_place *samples = growing_reserve(import->samples, &standing->samples_capacity,
                                                   import->logs->n_inputs + 1, sizeof *samples);

    if (!samples)
        return error_set(err, ERROR_NOMEM, "out of memory");
    import->samples = samples;
    return 0;
}

static int take_definitions(struct standing_import *standing, bool *ret_is_other, struct error *err)
{
    struct import *import = &standing->import;

    if (numbering_take(&standing->numbering, import->logs->inputs, import->logs->n_inputs,
                       &import->logs->definitions, ret_is_other)
        != 0)
        return error_set(err, ERROR_NOMEM, "out of memory");
    import->ids = (struct facts_ids){.threads = standing->numbering.thread_ids,
                                     .backtraces = standing->numbering.backtrace_ids,
                                     .pools = standing->numbering.pool_ids};
    import->stream = &standing->stream;
    return standing_import_reserve_samples(standing, err);
}

/* Where threads are held up for longer than was thought, which made us begin anew, they will be again. */
static uint64_t wary_mark(const struct standing_import *standing)
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
static uint64_t mark_before(const struct standing_import *standing, uint64_t until_ns)
{
    const struct log_set *logs = standing->import.logs;
    uint64_t mark = later(wary_mark(standing), standing->sure_mark);
    uint64_t last_ns = until_ns > logs->origin_ns ? until_ns - logs->origin_ns : 0;

    if (until_ns == UINT64_MAX || last_ns > mark >> CLOCK_MAP_FRACTION_BITS)
        return mark;
    return last_ns << CLOCK_MAP_FRACTION_BITS;
}

void standing_import_take_pieces(struct standing_import *standing, uint64_t n_bytes)
{
    standing->most_bytes = n_bytes;
}

bool standing_import_is_behind(const struct standing_import *standing)
{
    return standing->is_behind;
}

void standing_import_be_sole(struct standing_import *standing, const struct facts_limits *limits)
{
    standing->is_sole = true;
    standing->limits = limits ? *limits : sole_limits;
}

static void at_least(uint32_t *room, uint32_t least)
{
    if (*room < least)
        *room = least;
}

int standing_import_make_facts(struct standing_import *standing, const struct facts_room *least,
                               struct error *err)
{
    struct import *import = &standing->import;
    const struct definitions *definitions = log_set_definitions(import->logs);
    struct facts_room room = {.n_processes = with_room(definitions->n_processes, MIN_PROCESSES),
                              .n_threads = with_room(definitions->n_threads, MIN_THREADS),
                              .n_nodes = with_room(definitions->n_backtraces, MIN_NODES),
                              .n_pools = with_room(definitions->n_pools, MIN_POOLS)};
    int code = import->kept ? 0 : kept_facts_new(standing->options->target, &import->kept, err);

    if (code)
        return code;
    kept_facts_bound(import->kept, standing->limits.rows);
    at_least(&room.n_processes, least->n_processes);
    at_least(&room.n_threads, least->n_threads);
    at_least(&room.n_nodes, least->n_nodes);
    at_least(&room.n_pools, least->n_pools);
    struct facts_sink sink = kept_facts_sink(import->kept);
    code = facts_new(definitions, &room, &sink, standing->options->target, &import->facts, err);
    if (code == 0)
        code = facts_keep_moments(import->facts, err);
    if (code == 0 && standing->has_no_rows)
        facts_leave_rows_out(import->facts);
    if (code == 0)
        facts_bound(import->facts, &standing->limits);
    return code;
}

static int begin(struct standing_import *standing, struct error *err)
{
    const struct facts_room least = {0};
    bool is_other;
    int code = take_definitions(standing, &is_other, err);

    standing->n_beginnings++;
    return code ? code : standing_import_make_facts(standing, &least, err);
}

/* A sample that was written after events that it was taken before. */
static int find_late_sample(struct standing_import *standing, bool *ret_is_late, struct error *err)
{
    struct import *import = &standing->import;
    struct sample_stream *samples;
    int code = sample_stream_open(import->logs, import->samples, &samples, err);

    for (uint32_t id = 1; code == 0 && id <= import->logs->n_inputs; id++) {
        uint64_t event_ns = facts_event_ns(import->facts, id);
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
static void digest_pasts(struct standing_import *standing)
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

int standing_import_take_pasts(struct standing_import *standing, struct error *err)
{
    const struct log_set *logs = standing->import.logs;
    struct log_set_past *pasts = growing_reserve(standing->pasts, &standing->pasts_capacity,
                                                 logs->n_inputs + 1, sizeof *pasts);

    if (!pasts)
        return error_set(err, ERROR_NOMEM, "out of memory");
    standing->pasts = pasts;
    standing->n_pasts = logs->n_inputs;
    for (size_t i = 0; i < logs->n_inputs; i++) {
        pasts[i].run_id = logs->inputs[i]->header.run_id;
        pasts[i].has_time_shift = logs->inputs[i]->has_time_shift;
        pasts[i].time_shift = logs->inputs[i]->time_shift;
        if (is_rounded(logs->inputs[i])
            && clock_past_take(&pasts[i].clock, &logs->inputs[i]->clock) != 0)
            return error_set(err, ERROR_NOMEM, "out of memory");
    }
    digest_pasts(standing);
    return 0;
}

static int keep_clocks(struct standing_import *standing, struct error *err)
{
    const struct log_set *logs = standing->import.logs;
    struct kept_clock *clocks = growing_reserve(standing->clocks, &standing->clocks_capacity,
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
    return standing->is_sole ? standing_import_take_pasts(standing, err) : 0;
}

static bool are_clocks_kept(const struct standing_import *standing)
{
    const struct log_set *logs = standing->import.logs;

    for (size_t i = 0; i < standing->n_clocks && i < logs->n_inputs; i++)
        if (clock_map_digest(&logs->inputs[i]->clock, standing->clocks[i].final_ticks)
            != standing->clocks[i].digest)
            return false;
    return true;
}

/* Nothing can begin anew where segments may be gone. */
static int fail_sole(const struct standing_import *standing, struct error *err)
{
    return error_set(err, ERROR_FORMAT,
                     "the recording is not the continuation of its state any more: %s",
                     standing->why ? standing->why : "a part of it is missing, or was added late");
}

/* The first reason counts. */
static void note_other(struct standing_import *standing, bool is_other, const char *why)
{
    if (is_other && !standing->why)
        standing->why = why;
}

static bool can_continue(const struct standing_import *standing)
{
    const struct import *import = &standing->import;

    return facts_continue(import->facts, log_set_definitions(import->logs), &import->ids,
                          standing->is_sole);
}

/* From here on the facts know the definitions of now, be it that they need more room for them: those of before are gone. */
static int continue_facts(struct standing_import *standing, bool *ret_is_other, struct error *err)
{
    int code = 0;

    *ret_is_other = !can_continue(standing);
    if (*ret_is_other && standing->is_sole) {
        code = standing_import_make_room(standing, err);
        *ret_is_other = code == 0 && !can_continue(standing);
    }
    return code;
}

/* *ret_is_other: what is kept is not the beginning of the log any more. */
static int go_on(struct standing_import *standing, bool *ret_is_other, struct error *err)
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
    if (code == 0 && !*ret_is_other && standing->is_sole
        && log_set_forget_gone(import->logs, import->stream) != 0)
        code = error_set(err, ERROR_NOMEM, "out of memory");
    if (code == 0 && !*ret_is_other)
        log_set_skip_done(import->logs, import->stream);
    return code;
}

static uint64_t piece_before(struct standing_import *standing, uint64_t mark)
{
    uint64_t end =
        standing->most_bytes
            ? log_set_piece_end(standing->import.logs, standing->stream.mark, standing->most_bytes)
            : UINT64_MAX;

    standing->is_behind = end < mark;
    return standing->is_behind ? end : mark;
}

static int read_to_mark(struct standing_import *standing, uint64_t until_ns, bool *ret_is_other,
                        struct error *err)
{
    struct import *import = &standing->import;
    uint64_t mark = piece_before(standing, mark_before(standing, until_ns));

    if (mark == UINT64_MAX || mark <= standing->stream.mark)
        return 0;
    progress_begin(import->progress, "reading", "events");
    int code = import_read(import, mark, err);
    progress_end(import->progress, facts_n_events(import->facts));
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

static int try_advance(struct standing_import *standing, uint64_t until_ns, bool *ret_is_other,
                       struct error *err)
{
    uint64_t began_ns = own_cpu_ns();
    int code = standing->keeps_logs ? 0 : standing_import_open_logs(standing, err);

    standing->keeps_logs = false;
    standing->sure_mark = standing->final_ticks = 0;
    standing->is_behind = false;
    if (code == 0 && standing->most_bytes) /* who takes pieces has no haste */
        log_set_be_frugal(standing->import.logs);
    if (code || !is_fit(standing))
        return code;
    if (standing->is_sole && !standing->import.facts && standing->n_beginnings)
        return fail_sole(standing, err);
    code = standing->import.facts ? go_on(standing, ret_is_other, err) : begin(standing, err);
    standing->opening_ns += own_cpu_ns() - began_ns;
    return code || *ret_is_other ? code : read_to_mark(standing, until_ns, ret_is_other, err);
}

int standing_import_advance(struct standing_import *standing, uint64_t until_ns, struct error *err)
{
    int code;
    bool is_other;

    standing->opening_ns = 0;
    do { /* a second time at most: what begins anew finds nothing that is other, or is unfit */
        is_other = false;
        code = try_advance(standing, until_ns, &is_other, err);
        if (code == 0 && standing->is_sole && (is_other || !is_fit(standing)))
            code = fail_sole(standing, err);
        if (code || is_other || !is_fit(standing))
            standing_import_forget(standing);
    } while (code == 0 && is_other);
    return code;
}

/* ---- writing ---- */

/* What the child says of itself. */
struct child_report {
    int code;
    bool is_other;
    struct error err;
    struct import_result result;
};

static struct child_report write_here(struct standing_import *standing,
                                      const struct import_options *options)
{
    struct child_report report = {0};

    standing->import.options = options;
    report.code = import_write(&standing->import, &report.result, &report.err);
    report.is_other = standing->stream.is_late;
    return report;
}

/* Was all up to the instant, and nothing behind it, taken in? */
static bool is_cut_well(const struct standing_import *standing,
                        const struct import_options *options, const struct child_report *report)
{
    if (report->is_other)
        return false;
    return !options->until_marker || standing->stream.is_cut;
}

/* Has what is kept all that is wanted, and ends before the instant, as far as one knows? */
static bool may_be_cut(const struct standing_import *standing, const struct import_options *options)
{
    if (!standing->import.facts || (standing->has_no_rows && !options->slim))
        return false;
    return standing->stream.mark >> CLOCK_MAP_FRACTION_BITS <= standing->cut_ns;
}

static struct child_report cut_here(struct standing_import *standing,
                                    const struct import_options *options)
{
    struct import_options again = *options;
    struct child_report report = {0};

    if (may_be_cut(standing, options)) {
        report = write_here(standing, options);
        if (is_cut_well(standing, options, &report))
            return report;
    }
    if (standing->is_sole) {
        report.code =
            standing->has_no_rows && !options->slim
                ? error_set(&report.err, ERROR_FORMAT,
                            "this question is about single blocks, which a log of --aggregate "
                            "does not keep: ask for totals, or record without --aggregate")
                : fail_sole(standing, &report.err);
        return report;
    }
    again.force = true;
    report.code = import_run(&again, standing->import.progress, &report.result, &report.err);
    return report;
}

static void put_report(int fd, const struct child_report *report)
{
    const char *bytes = (const char *)report;
    size_t n_done = 0;

    while (n_done < sizeof *report) {
        ssize_t n = write(fd, bytes + n_done, sizeof *report - n_done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        n_done += (size_t)n;
    }
}

/* A signal that came here is for the child, too. */
static bool get_report(const struct standing_import *standing, pid_t pid, int fd,
                       struct child_report *ret)
{
    const volatile sig_atomic_t *interrupted = standing->import.progress->interrupted;
    bool is_told = false;
    size_t n_done = 0;

    while (n_done < sizeof *ret) {
        ssize_t n = read(fd, (char *)ret + n_done, sizeof *ret - n_done);
        if (n < 0 && errno == EINTR) {
            if (interrupted && *interrupted && !is_told)
                is_told = kill(pid, *interrupted) == 0;
            continue;
        }
        if (n <= 0)
            return false;
        n_done += (size_t)n;
    }
    return true;
}

/* What the child does. */
typedef struct child_report make_fn(struct standing_import *standing,
                                    const struct import_options *options);

/* false: there is no memory for it, or no room for a process. */
static bool fork_writer(struct standing_import *standing, const struct import_options *options,
                        make_fn *make, int *ret_fd, pid_t *ret_pid)
{
    pid_t parent = getpid();
    int fds[2];

    if (pipe(fds) != 0)
        return false;
    *ret_pid = fork();
    if (*ret_pid == 0) {
        close(fds[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody is left who would look at it */
        if (getppid() == parent) {
            if (standing->import.facts) /* to give it back would first copy its pages */
                facts_keep_memory(standing->import.facts);
            struct child_report report = make(standing, options);
            put_report(fds[1], &report);
        }
        _exit(0);
    }
    close(fds[1]);
    *ret_fd = fds[0];
    if (*ret_pid < 0)
        close(fds[0]);
    return *ret_pid > 0;
}

/* false: it did not come to its end, be it that there was no memory for a second process. */
static bool write_in_child(struct standing_import *standing, const struct import_options *options,
                           make_fn *make, struct child_report *report)
{
    int status;
    int fd;
    pid_t pid;

    if (!fork_writer(standing, options, make, &fd, &pid))
        return false;
    bool has_report = get_report(standing, pid, fd, report);
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return has_report;
}

/* In a child; here, where that was killed. What it left beside the target is removed when that is opened again (OF-2). */
static struct child_report make_database(struct standing_import *standing,
                                         const struct import_options *options, make_fn *make)
{
    struct child_report report = {0};

    if (!standing->import.blank && database_blank_make(&standing->blank, NULL) == 0)
        standing->import.blank = &standing->blank;
    if (write_in_child(standing, options, make, &report))
        return report;
    report = make(standing, options);
    report.result.has_lost_writer = true;
    if (!report.is_other)
        standing_import_forget(standing); /* writing has used it up */
    return report;
}

static int take_report(const struct child_report *report, struct import_result *ret_result,
                       struct error *err)
{
    *ret_result = report->result;
    if (report->code && err)
        *err = report->err;
    return report->code;
}

static struct child_report write_once(struct standing_import *standing,
                                      const struct import_options *options, bool is_last)
{
    return is_last ? write_here(standing, options) : make_database(standing, options, write_here);
}

int standing_import_write(struct standing_import *standing, const struct import_options *options,
                          bool is_last, struct import_result *ret_result, struct error *err)
{
    struct child_report report = write_once(standing, options, is_last);

    if (report.is_other && standing->is_sole)
        return fail_sole(standing, err);
    if (report.is_other) { /* an event behind the mark lies before it */
        standing_import_forget(standing);
        int code = standing_import_advance(standing, UINT64_MAX, err);
        if (code)
            return code;
        report = write_once(standing, options, is_last);
    }
    return take_report(&report, ret_result, err);
}

/* When the marker was put, as who put it says; whether it is there is seen when it is read (is_cut_well). False: nobody
 * says. */
static bool know_marker(struct standing_import *standing, const struct import_options *options,
                        uint64_t *ret_ns)
{
    const struct log_set *logs = standing->import.logs;
    struct clock_cursor cursor = {0};

    if (options->marker_ticks == 0 || logs->n_inputs != 1)
        return false;
    *ret_ns = log_set_time(logs, logs->inputs[0], &cursor,
                           options->marker_ticks & UINT64_MAX << logs->inputs[0]->time_shift)
              >> CLOCK_MAP_FRACTION_BITS;
    standing->sure_mark = log_set_mark_before(logs, options->marker_ticks, &standing->final_ticks);
    return true;
}

/* A marker is looked for behind what is kept only. 0: it is not there. */
static int find_instant(struct standing_import *standing, const struct import_options *options,
                        uint64_t *ret_ns, struct error *err)
{
    struct import *import = &standing->import;
    bool is_found = true;
    int code = 0;

    *ret_ns = options->until_ns;
    if (options->until_marker && !know_marker(standing, options, ret_ns)) {
        log_set_skip_done(import->logs, import->stream);
        code = import_find_marker(import, options->until_marker, &is_found, ret_ns, err);
    }
    if (!is_found)
        *ret_ns = 0;
    else if (options->until_ns && options->until_ns < *ret_ns)
        *ret_ns = options->until_ns;
    return code;
}

/* What is certain before the instant is taken in here, so that it is read once, and not by each child. Not of several
 * logs, as one of them may begin behind the instant. */
static int take_certain(struct standing_import *standing, bool *ret_is_other, struct error *err)
{
    struct import *import = &standing->import;
    int code = go_on(standing, ret_is_other, err);

    if (code == 0 && !*ret_is_other)
        code = read_to_mark(standing, import->logs->origin_ns + standing->cut_ns - 1, ret_is_other,
                            err);
    return code;
}

/* The log as it was at the instant. */
static int cut_logs(struct standing_import *standing, const struct import_options *options,
                    bool *ret_is_other, struct error *err)
{
    struct import *import = &standing->import;
    int code = find_instant(standing, options, &standing->cut_ns, err);
    bool is_continued = standing->cut_ns && import->logs->n_inputs == 1;

    if (code == 0 && is_continued)
        code = take_certain(standing, ret_is_other, err);
    if (code || *ret_is_other)
        return code;
    if (standing->cut_ns)
        code = log_set_cut(import->logs, standing->cut_ns, options->until_marker, err);
    if (code == 0 && is_continued)
        *ret_is_other = !facts_continue(import->facts, log_set_definitions(import->logs),
                                        &import->ids, standing->is_sole);
    else if (code == 0)
        code = go_on(standing, ret_is_other, err);
    return code;
}

/* What is kept goes on with the log as it is now, if it can. */
static int open_cut(struct standing_import *standing, const struct import_options *options,
                    struct error *err)
{
    bool is_other = false;
    int code = standing_import_open_logs(standing, err);

    standing->cut_ns = standing->sure_mark = standing->final_ticks = 0;
    if (code == 0 && standing->import.facts && is_fit(standing))
        code = cut_logs(standing, options, &is_other, err);
    if (code == 0 && standing->is_sole && (is_other || !is_fit(standing)))
        code = fail_sole(standing, err);
    if (code || is_other || !is_fit(standing))
        standing_import_forget(standing);
    return code;
}

int standing_import_cut(struct standing_import *standing, const struct import_options *options,
                        struct import_result *ret_result, struct error *err)
{
    int code = open_cut(standing, options, err);

    if (code)
        return code;
    struct child_report report = make_database(standing, options, cut_here);
    return take_report(&report, ret_result, err);
}
