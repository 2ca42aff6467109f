/* SPDX-License-Identifier: MIT */
#include "recorder/session/periodic_reports.h"

#include "lib/base/file_io.h"
#include "recorder/session/exit_summary.h"
#include "recorder/session/program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const g_requests[] = {"summary", "threads --wide", "groups --wide",
                                         "by-group --wide", NULL};

/* Owned by the caller; NULL without memory. */
static char *name_of(const char *log_path, unsigned n, const char *suffix)
{
    char *name = NULL;

    return asprintf(&name, "%s.report.%u.txt%s", log_path, n, suffix) < 0 ? NULL : name;
}

/* Unrounded, so that the finished log can be imported up to the same time; elsewhere it is
 * rounded. */
static bool put_instant(int fd, uint64_t at_ns)
{
    return dprintf(fd, "as of %" PRIu64 " ns; of the log: mtrace-import --until %" PRIu64 "ns\n\n",
                   at_ns, at_ns)
           > 0;
}

static char *why_of(struct periodic_reports *reports, unsigned n)
{
    return reports->whys[n % PERIODIC_REPORTS_REMEMBERED];
}

/* Repeated failures, for example a full disk, are reported once and counted. */
static void fail(struct periodic_reports *reports, const char *why)
{
    char *mine = why_of(reports, reports->n);

    (void)snprintf(mine, PERIODIC_REPORTS_WHY_BYTES, "%s", why);
    reports->n_failed++;
    if (reports->n == 1 || strcmp(mine, why_of(reports, reports->n - 1)) != 0)
        exit_summary_warn("report %u could not be made: %s", reports->n, mine);
}

static void begin(struct periodic_reports *reports, uint64_t at_ns, struct recording *recording)
{
    struct report_service_job job = {
        .programs = recording->programs, .until_ns = at_ns, .requests = g_requests};
    char why[PERIODIC_REPORTS_WHY_BYTES];
    int code = 0;

    *why_of(reports, ++reports->n) = '\0';
    reports->fd = job.fd = memfd_create("mtrace report", MFD_CLOEXEC);
    if (job.fd < 0 || !put_instant(job.fd, at_ns))
        code = errno;
    if (code == 0)
        code = report_service_start(&job, reports->follower, &reports->work);
    if (code == 0)
        return;
    if (code == ENOSYS)
        program_explain_sibling(job.programs->import ? "mtrace-query" : "mtrace-import", why,
                                sizeof(why));
    fail(reports, code == ENOSYS ? why : strerror(code));
    if (job.fd >= 0)
        close(job.fd);
}

static int copy(int from, int to)
{
    char bytes[4096];
    uint64_t at = 0;
    size_t n = 0;
    int code;

    do {
        code = file_io_read(from, bytes, sizeof(bytes), at, &n);
        if (code == 0)
            code = file_io_write(to, bytes, n, at, NULL);
        at += n;
    } while (code == 0 && n == sizeof(bytes));
    return code;
}

/* An existing file was left by a killed recorder, or put there by another user with write access to
 * the folder. Neither it nor a link's target may be written to. */
static int write_part(int text, const char *part)
{
    int fd, code;

    (void)unlink(part);
    fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    code = copy(text, fd);
    if (close(fd) != 0 && code == 0)
        code = errno; /* some file systems report a full disk only at close */
    return code;
}

/* Renames the finished report (OR-1). Returns an errno value. */
static int publish(const struct periodic_reports *reports, const char *log_path)
{
    char *part = name_of(log_path, reports->n, ".part");
    char *name = name_of(log_path, reports->n, "");
    int code = part && name ? write_part(reports->fd, part) : ENOMEM;

    if (code == 0 && rename(part, name) != 0)
        code = errno;
    if (code && part)
        unlink(part);
    free(part);
    free(name);
    return code;
}

/* The last line that a failed process wrote. */
static void get_last_line(int fd, char *ret, size_t n_bytes)
{
    off_t end = lseek(fd, 0, SEEK_END);
    off_t start = end < (off_t)n_bytes ? 0 : end - (off_t)n_bytes + 1;
    size_t n = 0;
    char *line;

    (void)file_io_read(fd, ret, n_bytes - 1, (uint64_t)start, &n);
    while (n > 0 && ret[n - 1] == '\n')
        n--;
    ret[n] = '\0';
    line = memrchr(ret, '\n', n);
    if (line)
        memmove(ret, line + 1, strlen(line));
}

/* For a report whose text is complete. */
static void finish(struct periodic_reports *reports, int exit_status, const char *log_path)
{
    char why[PERIODIC_REPORTS_WHY_BYTES];
    int code = publish(reports, log_path);

    if (code)
        (void)snprintf(why, sizeof(why), "its file cannot be written: %s", strerror(code));
    else if (exit_status)
        get_last_line(reports->fd, why, sizeof(why));
    if (code || exit_status)
        fail(reports, why);
}

/* OR-1: the output of a killed process is incomplete. */
static void look_for_end(struct periodic_reports *reports, const char *log_path)
{
    int status;

    if (!child_process_has_ended(&reports->work.child, &status))
        return;
    report_service_end(&reports->work);
    if (status != -1 && WIFEXITED(status))
        finish(reports, WEXITSTATUS(status), log_path);
    else
        fail(reports, "the process that makes it was killed");
    close(reports->fd);
}

/* Reports that became due while the recorder was delayed are skipped. */
static bool is_time(struct periodic_reports *reports, uint64_t now_ns)
{
    uint64_t n_missed;

    if (reports->every_ns == 0)
        return false;
    if (reports->due_ns == 0)
        reports->due_ns = now_ns + reports->every_ns;
    if (now_ns < reports->due_ns)
        return false;
    n_missed = (now_ns - reports->due_ns) / reports->every_ns;
    reports->due_ns += (n_missed + 1) * reports->every_ns;
    reports->n_left_out[PERIODIC_REPORTS_LATE] += n_missed;
    return true;
}

void periodic_reports_ask(struct periodic_reports *reports)
{
    reports->n_left_out[PERIODIC_REPORTS_BUSY] += reports->is_asked;
    reports->is_asked = true;
}

bool periodic_reports_is_done(const struct periodic_reports *reports, unsigned n,
                              const char **ret_why)
{
    if (reports->n < n || (reports->n == n && reports->work.child.pid > 0))
        return false;
    *ret_why = reports->whys[n % PERIODIC_REPORTS_REMEMBERED];
    return true;
}

/* Does nothing before there are events to report. */
uint64_t periodic_reports_step(struct periodic_reports *reports, uint64_t now_ns,
                               struct recording *recording, const char *log_path)
{
    const struct live_log *live = &recording->live;

    if (reports->work.child.pid > 0)
        look_for_end(reports, log_path);
    if (!live->has_begun || live->seen.start_monotonic_ns >= now_ns)
        return 0;
    bool is_due = is_time(reports, now_ns);

    if (reports->work.child.pid > 0) {
        reports->n_left_out[PERIODIC_REPORTS_BUSY] += is_due;
        return 0;
    }
    if (!is_due && !reports->is_asked)
        return 0;
    reports->is_asked = false;
    begin(reports, now_ns - live->seen.start_monotonic_ns, recording);
    return now_ns;
}

static void stop(struct periodic_reports *reports)
{
    report_service_stop(&reports->work);
    close(reports->fd);
    (void)snprintf(why_of(reports, reports->n), PERIODIC_REPORTS_WHY_BYTES,
                   "it was not ready when the recording ended");
    reports->n_left_out[PERIODIC_REPORTS_UNREADY]++;
}

void periodic_reports_done(struct periodic_reports *reports, const char *log_path)
{
    if (reports->work.child.pid > 0)
        look_for_end(reports, log_path);
    if (reports->work.child.pid > 0)
        stop(reports);
    reports->n_left_out[PERIODIC_REPORTS_UNREADY] += reports->is_asked;
    reports->is_asked = false;
}

void periodic_reports_describe(const struct periodic_reports *reports, char *text, size_t n_bytes)
{
    static const char *const whys[PERIODIC_REPORTS_WHYS] = {
        [PERIODIC_REPORTS_BUSY] = "the previous one was not ready",
        [PERIODIC_REPORTS_LATE] = "mtrace-record itself was delayed",
        [PERIODIC_REPORTS_UNREADY] = "not ready at the end",
    };
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < PERIODIC_REPORTS_WHYS && used < n_bytes; i++) {
        uint64_t n = reports->n_left_out[i];
        if (n)
            used +=
                (size_t)snprintf(text + used, n_bytes - used, "%s%" PRIu64 " report%s omitted (%s)",
                                 used ? ", " : "; ", n, n == 1 ? "" : "s", whys[i]);
    }
    if (reports->n_failed && used < n_bytes)
        (void)snprintf(text + used, n_bytes - used, "%s%" PRIu64 " report%s could not be made",
                       used ? ", " : "; ", reports->n_failed, reports->n_failed == 1 ? "" : "s");
}
