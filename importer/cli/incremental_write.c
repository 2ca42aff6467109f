/* SPDX-License-Identifier: MIT */
/*
 * Writes the databases of an incremental import, of the whole log or of a cut. Each is made by a
 * child process, so that the kept part does not change.
 */
#include "importer/cli/import.h"
#include "importer/cli/incremental_import.h"
#include "importer/read/log_set.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child's result. */
struct child_report {
    int code;
    struct error err;
    struct import_result result;
};

static struct child_report write_here(struct incremental_import *incremental,
                                      const struct import_options *options)
{
    struct child_report report = {0};

    incremental->import.options = options;
    report.code = import_write(&incremental->import, &report.result, &report.err);
    return report;
}

/* A report on one process needs its log only. */
static struct child_report import_here(struct incremental_import *incremental,
                                       const struct import_options *options)
{
    const struct log_set *logs = incremental->import.logs;
    uint32_t process = options->run_id ? log_set_find_process(logs, options->run_id) : 0;
    const char *path = process ? log_input_path(logs->inputs[process - 1]) : NULL;
    struct import_options own = *options;
    struct child_report report = {0};

    if (path) {
        own.logs = &path;
        own.n_logs = 1;
        own.only = true;
    }
    report.code = import_run(&own, incremental->import.progress, &report.result, &report.err);
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

/* Forwards a signal to the child. */
static bool get_report(const struct incremental_import *incremental, pid_t pid, int fd,
                       struct child_report *ret)
{
    const volatile sig_atomic_t *interrupted = incremental->import.progress->interrupted;
    bool is_reported = false;
    size_t n_done = 0;

    while (n_done < sizeof *ret) {
        ssize_t n = read(fd, (char *)ret + n_done, sizeof *ret - n_done);
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
    bool has_report = get_report(incremental, pid, fd, report);
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return has_report;
}

/* NULL: no memory. */
static const struct database_blank *blank_for(struct incremental_import *incremental)
{
    struct database_blank *blank = &incremental->blank;
    bool is_made = blank->bytes || database_blank_make(blank, NULL) == 0;

    return is_made ? blank : NULL;
}

/* The next opening removes what a killed child left beside the target (OF-2). */
static int make_database(struct incremental_import *incremental,
                         const struct import_options *options, make_fn *make,
                         struct import_result *ret_result, struct error *err)
{
    struct child_report report = {0};

    incremental->import.blank = blank_for(incremental);
    if (!write_in_child(incremental, options, make, &report))
        return error_set(err, ERROR_NOMEM,
                         "the process that writes the database was killed or could not be "
                         "started, perhaps for lack of memory");
    if (report.code == 0)
        *ret_result = report.result;
    else if (err)
        *err = report.err;
    return report.code;
}

int incremental_import_write(struct incremental_import *incremental,
                             const struct import_options *options, bool here,
                             struct import_result *ret_result, struct error *err)
{
    if (!here)
        return make_database(incremental, options, write_here, ret_result, err);
    incremental->import.options = options;
    return import_write(&incremental->import, ret_result, err);
}

/* ---- cuts ---- */

/* Makes the set that of the requested time. */
static int cut_logs(struct incremental_import *incremental, const struct import_options *options,
                    uint64_t cut_ns, struct error *err)
{
    struct import *import = &incremental->import;
    int code = log_set_cut(import->logs, cut_ns, options->until_marker, err);

    if (code == 0
        && !statistics_continue(import->statistics, log_set_definitions(import->logs),
                                &import->ids)) {
        incremental_import_forget(incremental);
        code = error_set(err, ERROR_FORMAT, "the log cannot be cut at this time");
    }
    if (code == 0 && options->run_id && !log_set_keep_only_run(import->logs, options->run_id))
        code = error_set(err, ERROR_NOT_FOUND,
                         "the log of the requesting process is not among those of its run");
    return code;
}

int incremental_import_cut(struct incremental_import *incremental,
                           const struct import_options *options, uint64_t until_ns,
                           struct import_result *ret_result, struct error *err)
{
    incremental->cut = options;
    int code = incremental_import_advance(incremental, until_ns, err);
    uint64_t cut_ns = code ? 0 : incremental_import_cut_ns(incremental);
    incremental->cut = NULL;
    if (code)
        return code;
    if (cut_ns == 0)
        return error_set(err, ERROR_USAGE, "the request names no time of the log");
    bool is_too_late = incremental->stream.mark >> CLOCK_MAP_FRACTION_BITS > cut_ns;
    if (is_too_late && incremental->is_bounded)
        return error_set(err, ERROR_FORMAT,
                         "later events are counted already, because the request took too"
                         " long: try again");
    if (is_too_late || !options->slim || !incremental->import.statistics)
        return make_database(incremental, options, import_here, ret_result, err);
    code = cut_logs(incremental, options, cut_ns, err);
    return code ? code : make_database(incremental, options, write_here, ret_result, err);
}
