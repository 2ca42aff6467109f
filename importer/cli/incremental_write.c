/* SPDX-License-Identifier: MIT */
/*
 * Writes the databases of an incremental import, of the whole log or of a cut. Each is made by a
 * child process, so that the kept part does not change. Without memory for a child this process
 * writes it, which uses up the kept part.
 */
#include "importer/cli/import.h"
#include "importer/cli/incremental_import.h"
#include "importer/read/log_set.h"
#include "lib/logfile/left_out.h"
#include "lib/process/child_process.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's result. */
struct child_report {
    int code;
    bool is_other;
    struct error err;
    struct import_result result;
};

static struct child_report write_here(struct incremental_import *incremental,
                                      const struct import_options *options)
{
    struct child_report report = {0};

    incremental->import.options = options;
    report.code = import_write(&incremental->import, &report.result, &report.err);
    report.is_other = incremental->stream.is_late;
    return report;
}

/* Does the database end exactly at the requested time? */
static bool is_cut_well(const struct incremental_import *incremental,
                        const struct import_options *options, const struct child_report *report)
{
    if (report->is_other)
        return false;
    return !options->until_marker || incremental->stream.is_cut;
}

/* Does the kept part suffice for the cut, and end before its time as far as known? */
static bool may_be_cut(const struct incremental_import *incremental,
                       const struct import_options *options)
{
    if (!incremental->import.statistics || (incremental->has_no_rows && !options->slim))
        return false;
    return incremental->stream.mark >> CLOCK_MAP_FRACTION_BITS <= incremental->cut_ns;
}

static struct child_report cut_here(struct incremental_import *incremental,
                                    const struct import_options *options)
{
    struct import_options again = *options;
    struct child_report report = {0};

    if (may_be_cut(incremental, options)) {
        report = write_here(incremental, options);
        if (is_cut_well(incremental, options, &report))
            return report;
    }
    if (incremental->is_sole) {
        report.code = incremental->has_no_rows && !options->slim
                          ? error_set(&report.err, ERROR_FORMAT, LEFT_OUT_BOUNDED)
                          : incremental_import_fail_sole(incremental, &report.err);
        return report;
    }
    again.force = true;
    report.code = import_run(&again, incremental->import.progress, &report.result, &report.err);
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

/* Forwards a signal to the child. is_awaited: a requester waits, and must not wait for a stopped
 * child. */
static bool get_report(const struct incremental_import *incremental, pid_t pid, int fd,
                       bool is_awaited, struct child_report *ret)
{
    const volatile sig_atomic_t *interrupted = incremental->import.progress->interrupted;
    bool is_reported = false;
    size_t n_done = 0;

    while (n_done < sizeof *ret) {
        ssize_t n = !is_awaited || child_time_limit_await(pid, fd)
                        ? read(fd, (char *)ret + n_done, sizeof *ret - n_done)
                        : -1;
        if (n < 0 && errno == EINTR) {
            if (interrupted && *interrupted && !is_reported)
                is_reported = kill(pid, *interrupted) == 0;
            continue;
        }
        if (n <= 0)
            return false;
        n_done += (size_t)n;
    }
    return true;
}

/* The child's work. */
typedef struct child_report make_fn(struct incremental_import *incremental,
                                    const struct import_options *options);

/* False: no memory, or the process limit is reached. */
static bool fork_writer(struct incremental_import *incremental,
                        const struct import_options *options, make_fn *make, int *ret_fd,
                        pid_t *ret_pid)
{
    pid_t parent = getpid();
    int fds[2];

    if (pipe(fds) != 0)
        return false;
    *ret_pid = fork();
    if (*ret_pid == 0) {
        close(fds[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* the result is useless without the parent */
        if (getppid() == parent) {
            if (incremental->import.statistics) /* freeing it would copy its pages first */
                statistics_keep_memory(incremental->import.statistics);
            struct child_report report = make(incremental, options);
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

/* False: the child was not started or did not finish, for example for want of memory. */
static bool write_in_child(struct incremental_import *incremental,
                           const struct import_options *options, make_fn *make,
                           struct child_report *report)
{
    int status;
    int fd;
    pid_t pid;

    if (!fork_writer(incremental, options, make, &fd, &pid))
        return false;
    bool has_report = get_report(incremental, pid, fd, make == cut_here, report);
    close(fd);
    (void)child_time_limit_wait(pid, &status);
    return has_report;
}

/* NULL: no memory. */
static const struct database_blank *blank_for(struct incremental_import *incremental,
                                              const struct import_options *options)
{
    bool has_views = options->left_out == LEFT_OUT_NOTHING;
    struct database_blank *blank = has_views ? &incremental->whole : &incremental->small;
    bool is_made = blank->bytes || database_blank_make(blank, has_views, NULL) == 0;

    return is_made ? blank : NULL;
}

/* In a child; in this process if that was killed. The next opening removes what the child left
 * beside the target (OF-2). */
static struct child_report make_database(struct incremental_import *incremental,
                                         const struct import_options *options, make_fn *make)
{
    struct child_report report = {0};

    incremental->import.blank = blank_for(incremental, options);
    if (write_in_child(incremental, options, make, &report))
        return report;
    report = make(incremental, options);
    report.result.has_lost_writer = true;
    if (!report.is_other)
        incremental_import_forget(incremental); /* writing has used it up */
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

static struct child_report write_once(struct incremental_import *incremental,
                                      const struct import_options *options, bool is_last)
{
    return is_last ? write_here(incremental, options)
                   : make_database(incremental, options, write_here);
}

int incremental_import_write(struct incremental_import *incremental,
                             const struct import_options *options, bool is_last,
                             struct import_result *ret_result, struct error *err)
{
    struct child_report report = write_once(incremental, options, is_last);

    if (report.is_other && incremental->is_sole)
        return incremental_import_fail_sole(incremental, err);
    if (report.is_other) { /* an event after the mark has a time before it */
        incremental_import_forget(incremental);
        int code = incremental_import_advance(incremental, UINT64_MAX, err);
        if (code)
            return code;
        report = write_once(incremental, options, is_last);
    }
    return take_report(&report, ret_result, err);
}

/* The process whose marker it is; 0: any. */
static uint32_t process_of_marker(const struct incremental_import *incremental,
                                  const struct import_options *options)
{
    const struct log_set *logs = incremental->import.logs;

    return options->run_id ? log_set_find_process(logs, options->run_id) : logs->n_inputs == 1;
}

/* Time of the marker according to the requester. Reading shows whether it exists (is_cut_well).
 * False: not given. */
static bool know_marker(struct incremental_import *incremental,
                        const struct import_options *options, uint64_t *ret_ns)
{
    const struct log_set *logs = incremental->import.logs;
    struct clock_cursor cursor = {0};
    uint32_t process = process_of_marker(incremental, options);

    if (options->marker_ticks == 0 || process == 0)
        return false;
    const struct log_input *input = logs->inputs[process - 1];
    *ret_ns =
        log_set_time(logs, input, &cursor, options->marker_ticks & UINT64_MAX << input->time_shift)
        >> CLOCK_MAP_FRACTION_BITS;
    if (logs->n_inputs == 1) /* with several logs it is unknown whether everything is there */
        incremental->sure_mark =
            log_set_watermark_before(logs, options->marker_ticks, &incremental->final_ticks);
    return true;
}

/* Searches the marker after the kept part only. 0: not found. */
static int find_instant(struct incremental_import *incremental,
                        const struct import_options *options, uint64_t *ret_ns, struct error *err)
{
    struct import *import = &incremental->import;
    bool is_found = true;
    int code = 0;

    *ret_ns = options->until_ns;
    if (options->until_marker && !know_marker(incremental, options, ret_ns)) {
        log_set_skip_done(import->logs, import->stream);
        code = import_find_marker(import, options->until_marker,
                                  process_of_marker(incremental, options), &is_found, ret_ns, err);
    }
    if (!is_found)
        *ret_ns = 0;
    else if (options->until_ns && options->until_ns < *ret_ns)
        *ret_ns = options->until_ns;
    return code;
}

/* Imports what is certain before the time in this process, so that it is read once and not by each
 * child. Not for several logs, since one of them may begin after the time. */
static int take_certain(struct incremental_import *incremental, bool *ret_is_other,
                        struct error *err)
{
    struct import *import = &incremental->import;
    int code = incremental_import_go_on(incremental, ret_is_other, err);

    if (code == 0 && !*ret_is_other)
        code = incremental_import_read_to_mark(
            incremental, import->logs->origin_ns + incremental->cut_ns - 1, ret_is_other, err);
    return code;
}

/* Makes the set that of the requested time. */
static int cut_logs(struct incremental_import *incremental, const struct import_options *options,
                    bool *ret_is_other, struct error *err)
{
    struct import *import = &incremental->import;
    bool is_one = import->logs->n_inputs == 1;
    bool is_continued = incremental->cut_ns && (is_one || incremental->is_sole);
    int code = 0;

    if (is_continued)
        code = is_one ? take_certain(incremental, ret_is_other, err)
                      : incremental_import_go_on(incremental, ret_is_other, err);
    if (code || *ret_is_other)
        return code;
    if (incremental->cut_ns)
        code = log_set_cut(import->logs, incremental->cut_ns, options->until_marker, err);
    if (code == 0 && is_continued)
        *ret_is_other = !statistics_continue(import->statistics, log_set_definitions(import->logs),
                                             &import->ids, incremental->is_sole);
    else if (code == 0)
        code = incremental_import_go_on(incremental, ret_is_other, err);
    if (code == 0 && !*ret_is_other && options->run_id
        && !log_set_keep_only_run(import->logs, options->run_id))
        code = error_set(err, ERROR_NOT_FOUND,
                         "the log of the requesting process is not among those of its run");
    return code;
}

/* The time is before the mark, and the events cannot be read again. */
static bool is_too_late(const struct incremental_import *incremental)
{
    return incremental->is_sole && incremental->cut_ns
           && incremental->cut_ns < incremental->stream.mark >> CLOCK_MAP_FRACTION_BITS;
}

/* Continues the kept part with the current log, if possible. */
int incremental_import_open_cut(struct incremental_import *incremental,
                                const struct import_options *options, struct error *err)
{
    bool is_other = false;
    int code = incremental_import_open_logs(incremental, err);
    bool can_go_on =
        code == 0 && incremental->import.statistics && incremental_import_is_fit(incremental);

    incremental->cut_ns = incremental->sure_mark = incremental->final_ticks = 0;
    if (can_go_on)
        code = find_instant(incremental, options, &incremental->cut_ns, err);
    if (code == 0 && is_too_late(incremental)) /* nothing was changed: a later cut is possible */
        return error_set(err, ERROR_FORMAT,
                         "later events are counted already, because the request took too"
                         " long: try again");
    if (can_go_on && code == 0)
        code = cut_logs(incremental, options, &is_other, err);
    if (code == 0 && incremental->is_sole && (is_other || !incremental_import_is_fit(incremental)))
        code = incremental_import_fail_sole(incremental, err);
    if (code || is_other || !incremental_import_is_fit(incremental))
        incremental_import_forget(incremental);
    return code;
}

int incremental_import_cut(struct incremental_import *incremental,
                           const struct import_options *options, struct import_result *ret_result,
                           struct error *err)
{
    struct child_report report = make_database(incremental, options, cut_here);

    return take_report(&report, ret_result, err);
}
