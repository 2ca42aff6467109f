/* SPDX-License-Identifier: MIT */
/*
 * periodic_reports: writes reports beside the log at intervals, or on a signal to mtrace-record.
 *
 * FILE.report.N.txt (N = 1, 2, …) has the time in ns since the recording began, then threads,
 * stacks and groups as of that time. report_service.h makes it, for all processes that an import of
 * the log finds: exec successors and recorded children. One report is made at a time. A report that
 * becomes due while another is being made is skipped and counted by reason; one signal is
 * remembered. The text is built in memory, so write errors are noticed.
 *
 * Invariants
 *   OR-1 A report file is complete or says why there is no report; it is written under another name
 *        first.
 *   OR-2 Existing files and targets of symbolic links are never written to.
 *
 * Notes: periodic_reports_is_done knows why a report could not be made or written, whatever the
 * file says.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_PERIODIC_REPORTS_H
#define MTRACE_RECORDER_PERIODIC_REPORTS_H

#include "recorder/session/recording.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PERIODIC_REPORTS_WHY_BYTES = 256,
    PERIODIC_REPORTS_REMEMBERED = 4, /* one ends and one begins at most between two polls */
};

/* Why a report is skipped. */
enum periodic_reports_why {
    PERIODIC_REPORTS_BUSY,    /* the previous one was still being made */
    PERIODIC_REPORTS_LATE,    /* mtrace-record was delayed, and the next one was due */
    PERIODIC_REPORTS_UNREADY, /* not ready when the recording ended */
    PERIODIC_REPORTS_WHYS
};

struct periodic_reports {
    uint64_t every_ns;               /* 0: only on request */
    uint64_t due_ns;                 /* 0: not begun yet */
    bool is_asked;                   /* by the signal */
    struct report_service_work work; /* the report being made */
    struct follower_process *follower;
    int fd;     /* text of the report being made */
    unsigned n; /* reports begun */
    /* Ring by report number: why it could not be made; "" if it was, or is being made. */
    char whys[PERIODIC_REPORTS_REMEMBERED][PERIODIC_REPORTS_WHY_BYTES];
    uint64_t n_failed;
    uint64_t n_left_out[PERIODIC_REPORTS_WHYS];
};

/* Requests a report, because the signal arrived. */
void periodic_reports_ask(struct periodic_reports *reports);

/* now_ns must be later than everything packed. Returns the time of a report that begins now; the
 * caller must hold packing until it (PG-6). 0: none. */
uint64_t periodic_reports_step(struct periodic_reports *reports, uint64_t now_ns,
                               struct recording *recording, const char *log_path);

/* Report n is finished. *ret_why: why it could not be made; "": it is beside the log. */
bool periodic_reports_is_done(const struct periodic_reports *reports, unsigned n,
                              const char **ret_why);

/* Says how many were skipped, why, and how many failed; "" if none. */
void periodic_reports_describe(const struct periodic_reports *reports, char *text, size_t n_bytes);

/* The recording ends: a report that is not ready is skipped. */
void periodic_reports_done(struct periodic_reports *reports, const char *log_path);

#endif
