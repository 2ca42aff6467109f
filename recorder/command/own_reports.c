/* SPDX-License-Identifier: MIT */
#include "recorder/command/own_reports.h"

#include "recorder/command/closing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const g_questions[] = {"summary", "threads --wide", "groups --wide",
                                          "by-group --wide", NULL};

/* Owned by the caller; NULL without memory. */
static char *name_of(const char *log_path, unsigned n, const char *suffix)
{
    char *name = NULL;

    return asprintf(&name, "%s.report.%u.txt%s", log_path, n, suffix) < 0 ? NULL : name;
}

static void begin(struct own_reports *reports, uint64_t at_ns, const char *log_path,
                  const struct reporter_programs *programs)
{
    char *name = name_of(log_path, ++reports->n, ".part");
    char until[64];
    struct reporter_job job = {
        .programs = programs, .log_path = log_path, .until = until, .questions = g_questions};

    (void)snprintf(until, sizeof(until), "--until=%" PRIu64 "ns", at_ns);
    reports->fd = job.fd = name ? open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    reports->pid = job.fd >= 0 ? reporter_start(&job) : -1;
    if (reports->pid <= 0) {
        closing_warn("report %u: %s", reports->n,
                     job.fd < 0 ? strerror(errno)
                                : "mtrace-import and mtrace-query are not beside mtrace-record");
        if (job.fd >= 0) {
            close(job.fd);
            unlink(name);
        }
        reports->pid = 0;
    }
    free(name);
}

/* A report that failed says why. */
static void publish(struct own_reports *reports, const char *log_path)
{
    char *part = name_of(log_path, reports->n, ".part");
    char *name = name_of(log_path, reports->n, "");

    if (part && name && rename(part, name) != 0)
        closing_warn("%s: %s", name, strerror(errno));
    free(part);
    free(name);
}

static void look_for_end(struct own_reports *reports, const char *log_path)
{
    pid_t ended = waitpid(reports->pid, NULL, WNOHANG);

    if (ended == 0 || (ended < 0 && errno == EINTR))
        return;
    reports->pid = 0;
    close(reports->fd);
    publish(reports, log_path);
}

/* Not before there is anything to report about. */
static bool is_due(struct own_reports *reports, uint64_t now_ns, const struct live_log *live)
{
    if (!live->has_begun || live->seen.start_monotonic_ns >= now_ns)
        return false;
    if (reports->due_ns == 0)
        reports->due_ns = reports->every_ns ? now_ns + reports->every_ns : UINT64_MAX;
    if (!reports->is_asked && now_ns < reports->due_ns)
        return false;
    while (reports->due_ns <= now_ns)
        reports->due_ns += reports->every_ns;
    reports->is_asked = false;
    return true;
}

void own_reports_step(struct own_reports *reports, uint64_t now_ns, const struct live_log *live,
                      const char *log_path, const struct reporter_programs *programs)
{
    if (reports->pid > 0)
        look_for_end(reports, log_path);
    if (is_due(reports, now_ns, live) && reports->pid == 0)
        begin(reports, now_ns - live->seen.start_monotonic_ns, log_path, programs);
}

void own_reports_done(struct own_reports *reports, const char *log_path)
{
    char *part;

    if (reports->pid <= 0)
        return;
    look_for_end(reports, log_path);
    if (reports->pid == 0)
        return;
    (void)kill(-reports->pid, SIGTERM);
    while (waitpid(reports->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    reports->pid = 0;
    close(reports->fd);
    part = name_of(log_path, reports->n, ".part");
    if (part)
        unlink(part);
    free(part);
}
