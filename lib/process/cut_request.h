/* SPDX-License-Identifier: MIT */
/*
 * cut_request: asks the importer that follows a log for a database of the recording as of one time.
 *
 * Requests are packets on a socket, whole or not at all, from any process that has an end of it.
 * Each request carries a socket of its own for the rest: the extent of the database, and the reply.
 * The requester may learn the extent later than it knows that it needs a database; the importer
 * opens the log in the meantime. The requester may exit before the reply. While it waits, it sees
 * when neither the importer nor its child that writes the database has the other end any more.
 *
 *   CR-1 Nothing is made for a requester that hangs up before it sends the extent. A requester that
 *        is too late with it gets no reply and must ask again.
 *
 * Any thread; each waits for its own reply. Failures are errno values.
 */
#ifndef MTRACE_LIB_CUT_REQUEST_H
#define MTRACE_LIB_CUT_REQUEST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* The first ones omit what enum left_out says. */
enum cut_extent {
    CUT_BARE,  /* LEFT_OUT_STACKS */
    CUT_SMALL, /* LEFT_OUT_SITES */
    CUT_SITES, /* LEFT_OUT_LEAKS */
    CUT_LEAKS, /* LEFT_OUT_HEAPS */
    CUT_HEAPS, /* LEFT_OUT_MOMENTS */
    CUT_SLIM,  /* only rows */
    CUT_ROWS,  /* of a bounded log: only rows of live blocks */
};

struct cut_request {
    uint64_t asked_ns;     /* CLOCK_MONOTONIC when the requested time was known to be over */
    uint64_t until_ns;     /* time in the run; 0: a marker is the time */
    uint64_t marker_ticks; /* the marker's time in the log; 0: unknown */
    uint64_t run_id;       /* the only process asked for, and the marker's; 0: all */
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

/* A socket pair, close-on-exec. */
int cut_request_open(int ret_ends[2]);

/* Sends the request. Returns the end for the rest of it, or -1: there is no importer. */
int cut_request_begin(int end, const struct cut_request *request);

/* Sends the extent and waits. False: no reply, because the importer has exited or did not wait for
 * the extent; begin the same request again. Closes the end. */
bool cut_request_finish(int own_end, const struct cut_order *order, struct cut_reply *ret_reply);

/* Gives the request up. -1 is fine. */
void cut_request_cancel(int own_end);

/* Takes the next request. Returns 1, 0 if all requesters' ends are closed, or a negative errno
 * value. The caller closes *ret_reply_fd. */
int cut_request_take(int end, struct cut_request *ret_request, int *ret_reply_fd);

/* Waits for the extent, max_ms at most. False: the requester hung up or is late, or a handler ran
 * for a signal. */
bool cut_request_receive(int reply_fd, int max_ms, struct cut_order *ret_order);

/* Sends the reply; the requester may have exited. */
void cut_request_reply(int reply_fd, const struct cut_reply *reply);

#endif
