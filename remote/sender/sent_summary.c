/* SPDX-License-Identifier: MIT */
#include "remote/sender/sent_summary.h"

#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "lib/logfile/log_name.h"
#include "remote/sender/hole_punching.h"
#include "remote/sender/sender_state.h"

#include <stdio.h>

static void report_what_is_left(const struct sender *sender, uint64_t n_left)
{
    const struct sender_settings *settings = sender->settings;
    char size[UNITS_TEXT_BYTES];

    (void)fprintf(stderr,
                  "mtrace-record: not sent to '%s': %s (%s); send the rest later: mtrace-record "
                  "--send '%s' %s\n",
                  settings->to, units_format_bytes((int64_t)n_left, size),
                  *sender->why ? sender->why : "there was no time", settings->log, settings->same);
}

/* Data that a dead recorder had not packed was not sent. */
static void report_what_is_live(const struct sender *sender)
{
    const char *log = sender->settings->log;

    if (log_name_has_live(log))
        (void)fprintf(
            stderr,
            "mtrace-record: the end of '%s' is in '%s.live' and was not sent: when its program "
            "has ended, 'mtrace-record --pack %s', then send it again\n",
            log, log, log);
}

/* Used if all logs were sent. */
static const char *what_became_of_them(const struct sender *sender)
{
    int64_t n_kept = 0;

    if (!sender->settings->gives_back)
        return "";
    for (size_t i = 0; i < sender->logs.n; i++) {
        const struct sent_log *log = sender->logs.logs[i];
        n_kept += log->state == SENT_STATE_SENT && !hole_punching_remove(log);
    }
    return n_kept ? "; kept here is what its recorder did not finish (--no-local)"
                  : "; removed here (--no-local)";
}

/* One line per reason; the path comes from the program. */
static void report_lacking(const struct sender *sender, size_t n, const char *why, const char *path)
{
    char example[256] = "";

    if (path)
        (void)snprintf(example, sizeof(example), ", as '%s'", path);
    printable_clean(example);
    (void)fprintf(stderr,
                  "mtrace-record: not all executables and debug files were sent to '%s': %zu of "
                  "%zu %s%s\n",
                  sender->settings->to, n, sender->objects.n + sender->objects.n_beyond, why,
                  example);
}

static void sum_up_objects(const struct sender *sender)
{
    const struct sent_objects *objects = &sender->objects;
    char late[ERROR_TEXT_BYTES + 16];
    const char *path = NULL;
    size_t n_settled = 0;

    for (enum wire_wish outcome = 0; outcome < WIRE_WISHES; outcome++) {
        size_t n = sent_objects_count(objects, outcome, &path);
        n_settled += n;
        if (n && wire_wish_text(outcome))
            report_lacking(sender, n, wire_wish_text(outcome), path);
    }
    if (n_settled < objects->n) {
        (void)snprintf(late, sizeof(late), "not in time (%s)", sender->why);
        report_lacking(sender, objects->n - n_settled, *sender->why ? late : "not in time", NULL);
    }
    if (objects->n_beyond)
        report_lacking(sender, objects->n_beyond, "more than it keeps track of", NULL);
    if (objects->has_missed)
        (void)fprintf(
            stderr,
            "mtrace-record: what '%s' named before it was given back here is known only "
            "as far as its process has it mapped: executables and debug files that it let go of, and that '%s' "
            "did not get then, are missing there (mtrace-import --debug-dir)\n",
            sender->settings->log, sender->settings->to);
}

void sent_summary_print(const struct sender *sender)
{
    char size[UNITS_TEXT_BYTES];
    char logs[UNITS_TEXT_BYTES];
    uint64_t n_bytes = 0;
    uint64_t n_left = 0;
    int64_t n_sent = 0;
    const char *status = "";

    for (size_t i = 0; i < sender->logs.n; i++) {
        const struct sent_log *log = sender->logs.logs[i];
        n_bytes += log->acked_bytes;
        n_sent += log->state == SENT_STATE_SENT;
        n_left += sent_log_bytes_left(log);
    }
    if (sent_logs_are_sent(&sender->logs))
        status = what_became_of_them(sender);
    if (!sent_logs_are_sent(&sender->logs))
        report_what_is_left(sender, n_left);
    else if (n_sent && !sender->settings->is_quiet)
        (void)fprintf(stderr, "mtrace-record: sent to '%s': %s, %s%s\n", sender->settings->to,
                      units_format_counted(n_sent, "log", logs),
                      units_format_bytes((int64_t)n_bytes, size), status);
    if (sender->is_asked_for_objects)
        sum_up_objects(sender);
    report_what_is_live(sender);
}
