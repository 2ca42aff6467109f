/* SPDX-License-Identifier: MIT */
/*
 * cut_request: what a recorder asks the importer that keeps up with its log for: a database of the recording as of one instant.
 *
 * Model:   requests go through a socket of packets, whole or not at all, from whoever holds an end of it. With each comes
 *          the end of a pipe, which the reply to this one request is written to: who asked may be gone by then, and
 *          who waits sees at once when nobody will reply any more.
 * Invariants
 *   CR-1 A reply is written by one write, of less than PIPE_BUF.
 * Threads: any; each waits for its own reply.
 * Failure: an errno value.
 */
#ifndef MTRACE_CUT_REQUEST_H
#define MTRACE_CUT_REQUEST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* The first ones leave out what enum left_out says. */
enum cut_extent {
    CUT_BARE,  /* LEFT_OUT_STACKS */
    CUT_LEAN,  /* LEFT_OUT_SITES */
    CUT_SITES, /* LEFT_OUT_HEAPS */
    CUT_HEAPS, /* LEFT_OUT_MOMENTS */
    CUT_SLIM,  /* rows alone */
    CUT_ROWS,  /* of a bounded log, of the blocks that are live alone */
};

struct cut_request {
    uint64_t asked_ns;     /* CLOCK_MONOTONIC when the instant was known to be over */
    uint64_t until_ns;     /* of the run; 0: a marker is the instant */
    uint64_t marker_ticks; /* what the log stamped it with, as far as one knows; 0: not known */
    uint64_t
        run_id; /* of the log whose process alone is asked about, and whose the marker is; 0: of all */
    char until_marker[64]; /* "": none */
    char target[PATH_MAX];
    enum cut_extent extent;
    bool has_symbols;
};

struct cut_reply {
    int32_t code;     /* enum error_code; 0: the database is there */
    int32_t os_errno; /* as in struct error */
    char text[1024];
};

/* Two ends, closed on exec. */
int cut_request_open(int ret_ends[2]);

/* Sends the request and waits. False: nobody replied. */
bool cut_request_ask(int end, const struct cut_request *request, struct cut_reply *ret_reply);

/* The next request: 1, or 0 when nobody can ask any more; negative errno value otherwise. *ret_reply_fd is the caller's to close. */
int cut_request_take(int end, struct cut_request *ret_request, int *ret_reply_fd);

/* To who may be gone. */
void cut_request_reply(int reply_fd, const struct cut_reply *reply);

#endif
