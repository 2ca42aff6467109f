/* SPDX-License-Identifier: MIT */
/*
 * cut_request: what a recorder asks the importer that keeps up with its log for: a database of the recording as of one instant.
 *
 * Model:   requests go through a socket of packets, whole or not at all, from whoever holds an end of it. With each comes
 *          the end of another one, for what belongs to this one request: how much the database is to have, which who asks may learn later
 *          than that he needs one, so that the log is opened meanwhile; and the reply. Who asked may be gone by then. Who waits for the reply
 *          sees when nobody has the other end any more: neither the importer, nor a child of it that writes the database.
 * Invariants
 *   CR-1 Nothing is made for who hung up before he said how much, and no reply is sent to who did not say it in time: he asks anew.
 * Threads: any; each waits for its own reply.
 * Failure: an errno value.
 */
#ifndef MTRACE_LIB_CUT_REQUEST_H
#define MTRACE_LIB_CUT_REQUEST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* The first ones leave out what enum left_out says. */
enum cut_extent {
    CUT_BARE,  /* LEFT_OUT_STACKS */
    CUT_SMALL, /* LEFT_OUT_SITES */
    CUT_SITES, /* LEFT_OUT_LEAKS */
    CUT_LEAKS, /* LEFT_OUT_HEAPS */
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
};

struct cut_order {
    enum cut_extent extent;
    bool has_symbols;
};

struct cut_reply {
    int32_t code;     /* enum error_code; 0: the database is there */
    bool has_no_room; /* for it (error_is_disk_full) */
    char text[1024];
};

/* Two ends, closed on exec. */
int cut_request_open(int ret_ends[2]);

/* Sends the request: the end to say more at, or -1: nobody is there. */
int cut_request_begin(int end, const struct cut_request *request);

/* Says how much, and waits. False: nobody replied, be it that the importer is gone, or did not wait so long for us: then the same request is begun
 * anew. The end is closed. */
bool cut_request_finish(int own_end, const struct cut_order *order, struct cut_reply *ret_reply);

/* Nothing is wanted any more. -1 is fine. */
void cut_request_cancel(int own_end);

/* The next request: 1, or 0 when nobody can ask any more; negative errno value otherwise. *ret_reply_fd is the caller's to close. */
int cut_request_take(int end, struct cut_request *ret_request, int *ret_reply_fd);

/* Waits for how much, most_ms at most. False: who asked has hung up, or says nothing, or a signal came that we have a handler for. */
bool cut_request_receive(int reply_fd, int most_ms, struct cut_order *ret_order);

/* To who may be gone. */
void cut_request_reply(int reply_fd, const struct cut_reply *reply);

#endif
