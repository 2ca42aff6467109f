/* SPDX-License-Identifier: MIT */
/*
 * own_reports: reports into files beside the log, by time and by a signal to mtrace-record, of a program that asks for
 * none itself.
 *
 * Model:   FILE.report.N.txt, N = 1, 2, …: threads, stacks and groups as of one instant, made by reporter.h; one at a
 *          time. While one is being made others that fall due are left out.
 * Invariants
 *   OR-1 A file of that name is whole, or says why there is no report; it is written under another one.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_OWN_REPORTS_H
#define MTRACE_RECORDER_OWN_REPORTS_H

#include "recorder/recording/recording.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct own_reports {
    uint64_t every_ns;         /* 0: only when asked */
    uint64_t due_ns;           /* 0: not begun yet */
    bool is_asked;             /* by the signal */
    struct reporter_work work; /* the one being made */
    int fd;
    unsigned n; /* begun */
};

void own_reports_step(struct own_reports *reports, uint64_t now_ns, struct recording *recording,
                      const char *log_path);

/* The recording ends: what is not ready by now is left out. */
void own_reports_done(struct own_reports *reports, const char *log_path);

#endif
