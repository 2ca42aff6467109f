/* SPDX-License-Identifier: MIT */
/*
 * own_reports: reports into files beside the log, by time and by a signal to mtrace-record, of a program that asks for
 * none itself.
 *
 * Model:   FILE.report.N.txt, N = 1, 2, …: the instant in ns since the recording began, then threads, stacks and groups as of that, made by report_service.h, of all processes that
 *          an import of the log finds: what the program executed, and children that are recorded. One at a
 *          time: one that falls due while another is being made is left out and counted, and by what. A signal then is remembered, but
 *          not a second one. What is due by time is asked for a little later (PERIODIC_REPORTS_LAG_NS), as of when it was due: by then the keeper is told
 *          for certain what was before, and takes it in once; else it and the process that writes the database would both read it.
 *          The text is made in memory, so that what cannot be written is known when it is.
 * Invariants
 *   OR-1 A file of that name is whole, or says why there is no report; it is written under another one. Of a report that could not be made, or written,
 *        periodic_reports_is_done knows why, whatever lies there.
 *   OR-2 No file that is there already is written into, nor is one that a link leads to.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_PERIODIC_REPORTS_H
#define MTRACE_RECORDER_PERIODIC_REPORTS_H

#include "recorder/session/recording.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PERIODIC_REPORTS_LAG_NS UINT64_C(300000000)

enum {
    PERIODIC_REPORTS_WHY_BYTES = 256,
    PERIODIC_REPORTS_REMEMBERED =
        4, /* between two looks of who asked one ends, and one is begun, at most */
};

/* Why one is left out. */
enum periodic_reports_why {
    PERIODIC_REPORTS_BUSY,    /* the one before was still being made */
    PERIODIC_REPORTS_LATE,    /* mtrace-record itself was held up, and the next one was due */
    PERIODIC_REPORTS_UNREADY, /* when the recording ended */
    PERIODIC_REPORTS_WHYS
};

struct periodic_reports {
    uint64_t every_ns;   /* 0: only when asked */
    uint64_t due_ns;     /* 0: not begun yet */
    uint64_t instant_ns; /* of one that is due, and is begun when the lag is over; 0: none */
    bool is_asked;       /* by the signal */
    struct report_service_work work; /* the one being made */
    struct follower_process own_follower;
    struct follower_process
        *run_follower; /* of a bounded run, in place of it; NULL: it is not bounded */
    int fd;            /* of the text of the one being made */
    unsigned n;        /* begun */
    /* By number, of the last ones: why it could not be made; "": it was, or is being made. */
    char whys[PERIODIC_REPORTS_REMEMBERED][PERIODIC_REPORTS_WHY_BYTES];
    uint64_t n_failed;
    uint64_t n_left_out[PERIODIC_REPORTS_WHYS];
};

/* The signal came. */
void periodic_reports_ask(struct periodic_reports *reports);

/* now_ns is behind all that was packed. Returns an instant that was chosen to be reported of, which others must know before they pack
 * what is stamped later (PG-6); 0: none was. */
uint64_t periodic_reports_step(struct periodic_reports *reports, uint64_t now_ns,
                               struct recording *recording, const char *log_path);

/* Has that one ended? *ret_why: why it could not be made; "": it is beside the log. */
bool periodic_reports_is_done(const struct periodic_reports *reports, unsigned n,
                              const char **ret_why);

/* How many were left out, and why, and how many failed; "" if none were and did. */
void periodic_reports_describe(const struct periodic_reports *reports, char *text, size_t n_bytes);

/* The recording ends: what is not ready by now is left out. */
void periodic_reports_done(struct periodic_reports *reports, const char *log_path);

#endif
