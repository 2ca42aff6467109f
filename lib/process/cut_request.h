/* SPDX-License-Identifier: MIT */
/*
 * cut_request: asks the importer that follows a log for a database of the recording as of one time.
 *
 * Requests are packets on a socket, whole or not at all, from any process that has an end of it.
 * Each request carries a socket of its own for the reply. The requester may exit before the reply.
 * While it waits, it sees when neither the importer nor its child that writes the database has the
 * other end any more.
 *
 * Any thread; each waits for its own reply. Failures are errno values.
 */
#ifndef MTRACE_LIB_CUT_REQUEST_H
#define MTRACE_LIB_CUT_REQUEST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct cut_request {
    uint64_t until_ns;     /* time in the run; 0: that of a marker */
    uint64_t marker_ticks; /* the marker's time in the log of run_id; 0: none */
    uint64_t run_id;       /* the only process asked for; 0: all */
    char until_marker[64]; /* events at the same time after it are left out; "": none */
    bool has_rows;         /* of single blocks; of a bounded log: only of live ones */
    bool has_symbols;
    char target[PATH_MAX];
};

struct cut_reply {
    int32_t code;     /* enum error_code; 0: the database is there */
    bool has_no_room; /* for it (error_is_disk_full) */
    char text[1024];
};

/* A socket pair, close-on-exec. */
int cut_request_open(int ret_ends[2]);

/* Sends the request and waits. False: no reply, because the importer has exited. */
bool cut_request_send(int end, const struct cut_request *request, struct cut_reply *ret_reply);

/* Takes the next request. Returns 1, 0 if all requesters' ends are closed, or a negative errno
 * value. The caller closes *ret_reply_fd. */
int cut_request_take(int end, struct cut_request *ret_request, int *ret_reply_fd);

/* Sends the reply; the requester may have exited. */
void cut_request_reply(int reply_fd, const struct cut_reply *reply);

#endif
