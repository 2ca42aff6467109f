/* SPDX-License-Identifier: MIT */
#include "recorder/command/own_reports.h"

#include "recorder/command/closing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

static struct keeper_process *keeper_of(struct own_reports *reports)
{
    return reports->run_keeper ? reports->run_keeper : &reports->own_keeper;
}

/* In full, so that the finished log can be cut there: what is said of it elsewhere is rounded. */
static void put_instant(int fd, uint64_t at_ns)
{
    (void)dprintf(fd, "as of %" PRIu64 " ns; of the log: mtrace-import --until %" PRIu64 "ns\n\n",
                  at_ns, at_ns);
}

/* What is there was left by a recorder that was killed, or put there by somebody who may write to the folder, too: in neither
 * case, and through no link, is it a file to write into. */
static int make_part(const char *name)
{
    (void)unlink(name);
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void begin(struct own_reports *reports, uint64_t at_ns, struct recording *recording,
                  const char *log_path)
{
    char *name = name_of(log_path, ++reports->n, ".part");
    struct reporter_job job = {.programs = recording->programs,
                               .log_path = log_path,
                               .until_ns = at_ns,
                               .is_of_family = true,
                               .questions = g_questions};
    int code = name ? 0 : ENOMEM;

    reports->fd = job.fd = name ? make_part(name) : -1;
    if (name && job.fd < 0)
        code = errno;
    if (code == 0)
        put_instant(job.fd, at_ns);
    if (code == 0)
        code = reporter_start(&job, keeper_of(reports), &reports->work);
    if (code)
        closing_warn("report %u: %s", reports->n,
                     code == ENOSYS ? "mtrace-import and mtrace-query are not beside mtrace-record"
                                    : strerror(code));
    if (code && job.fd >= 0) {
        close(job.fd);
        unlink(name);
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

static void drop(struct own_reports *reports, const char *log_path)
{
    char *part = name_of(log_path, reports->n, ".part");

    if (part)
        unlink(part);
    free(part);
}

/* OR-1: who was killed has not said all. */
static void look_for_end(struct own_reports *reports, const char *log_path)
{
    int status;

    if (!helper_has_ended(&reports->work.helper, &status)) {
        helper_watch(&reports->work.helper);
        helper_watch(&keeper_of(reports)->helper);
        return;
    }
    reporter_end(&reports->work);
    close(reports->fd);
    if (status != -1 && WIFEXITED(status)) {
        publish(reports, log_path);
        return;
    }
    drop(reports, log_path);
    closing_warn("report %u: who made it was killed", reports->n);
}

/* Those that fell due while we were held up ourselves are left out, too. */
static bool is_time(struct own_reports *reports, uint64_t now_ns)
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
    reports->n_left_out[OWN_REPORTS_LATE] += n_missed;
    return true;
}

/* Of three tenths of the time between two, where they are close. */
static uint64_t lag_ns(const struct own_reports *reports)
{
    uint64_t most_ns = reports->every_ns / 10 * 3;

    return most_ns < OWN_REPORTS_LAG_NS ? most_ns : OWN_REPORTS_LAG_NS;
}

/* One that fell due while the one before had not begun is left out. */
static void note_due(struct own_reports *reports, uint64_t now_ns)
{
    if (!is_time(reports, now_ns))
        return;
    if (reports->instant_ns)
        reports->n_left_out[OWN_REPORTS_BUSY]++;
    else
        reports->instant_ns = now_ns;
}

/* The instant of what is to be begun now; 0: nothing is. Who asks gets the next one that is begun, as of no earlier. */
static uint64_t take_instant(struct own_reports *reports, uint64_t now_ns)
{
    uint64_t instant_ns = 0;

    if (reports->is_asked) {
        instant_ns = now_ns;
        reports->is_asked = false;
    } else if (reports->instant_ns && now_ns >= reports->instant_ns + lag_ns(reports)) {
        instant_ns = reports->instant_ns;
        reports->instant_ns = 0;
    }
    return instant_ns;
}

void own_reports_ask(struct own_reports *reports)
{
    reports->n_left_out[OWN_REPORTS_BUSY] += reports->is_asked;
    reports->is_asked = true;
}

/* Nothing is due before there is anything to report about. */
uint64_t own_reports_step(struct own_reports *reports, uint64_t now_ns, struct recording *recording,
                          const char *log_path)
{
    const struct live_log *live = &recording->live;

    if (reports->work.helper.pid > 0)
        look_for_end(reports, log_path);
    if (!live->has_begun || live->seen.start_monotonic_ns >= now_ns)
        return 0;
    note_due(reports, now_ns);
    uint64_t chosen_ns = reports->instant_ns == now_ns || reports->is_asked ? now_ns : 0;

    if (reports->work.helper.pid > 0)
        return chosen_ns;
    uint64_t instant_ns = take_instant(reports, now_ns);

    if (instant_ns)
        begin(reports, instant_ns - live->seen.start_monotonic_ns, recording, log_path);
    return chosen_ns;
}

static void stop(struct own_reports *reports, const char *log_path)
{
    reporter_stop(&reports->work);
    close(reports->fd);
    drop(reports, log_path);
    reports->n_left_out[OWN_REPORTS_UNREADY]++;
}

void own_reports_done(struct own_reports *reports, const char *log_path)
{
    if (reports->work.helper.pid > 0)
        look_for_end(reports, log_path);
    if (reports->work.helper.pid > 0)
        stop(reports, log_path);
    reports->n_left_out[OWN_REPORTS_UNREADY] +=
        (uint64_t)reports->is_asked + (reports->instant_ns != 0);
    reports->is_asked = false;
    reports->instant_ns = 0;
    keeper_process_done(&reports->own_keeper);
}

void own_reports_describe(const struct own_reports *reports, char *text, size_t n_bytes)
{
    static const char *const whys[OWN_REPORTS_WHYS] = {
        [OWN_REPORTS_BUSY] = "the one before was still being made",
        [OWN_REPORTS_LATE] = "mtrace-record itself was held up",
        [OWN_REPORTS_UNREADY] = "not ready at the end",
    };
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < OWN_REPORTS_WHYS && used < n_bytes; i++) {
        uint64_t n = reports->n_left_out[i];
        if (n)
            used += (size_t)snprintf(text + used, n_bytes - used,
                                     "%s%" PRIu64 " report%s left out (%s)", used ? ", " : "; ", n,
                                     n == 1 ? "" : "s", whys[i]);
    }
}
