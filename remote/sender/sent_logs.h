/* SPDX-License-Identifier: MIT */
/*
 * sent_logs: the logs of one run, and how much of each is sent.
 *
 * A log waits, is announced, is sent, and ends; when the connection is lost, active logs wait
 * again. Files are found beside the run's first one, parents before children. Looking at a file
 * finds what can be sent (log_tail.h).
 *
 * Invariants
 *   SO-1 A log keeps its index in the list, by which the receiver knows it.
 *   SO-2 At most SENT_LOGS_AT_ONCE files are open at a time.
 *
 * Threads: one. If memory for a log is lacking, the next look finds it again.
 */
#ifndef MTRACE_REMOTE_SENT_LOGS_H
#define MTRACE_REMOTE_SENT_LOGS_H

#include "lib/abi/log_format.h"
#include "remote/sender/log_tail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SENT_LOGS_AT_ONCE = 256
};

enum sent_state {
    SENT_STATE_WAITING, /* for other logs, or for its first frame */
    SENT_STATE_BEGUN,   /* until HAVE comes */
    SENT_STATE_FLOWING,
    SENT_STATE_ENDING, /* until DONE comes */
    SENT_STATE_SENT,
    SENT_STATE_STUCK,  /* the receiver lost data that was removed here */
    SENT_STATE_NO_LOG, /* nothing can be sent */
};

/* Whether files still grow. */
enum sent_growth {
    SENT_GROWTH_GOES_ON, /* also if the file ends with a partial frame */
    SENT_GROWTH_IS_OVER,
    SENT_GROWTH_OF_EACH, /* unknown: decide by the file */
};

struct sent_log {
    char *path; /* owned */
    uint64_t path_hash;
    struct log_tail tail;
    enum sent_state state;
    uint64_t run_id, parent_run_id; /* 0: not known yet */
    uint64_t sent_bytes;            /* put into the channel */
    uint64_t acked_bytes;           /* written by the receiver */
    uint64_t max_bytes;             /* maximum over all connections */
    uint64_t asked_sync;            /* acked_bytes at the last SYNC; 0: none on this connection */
    uint8_t page[LOG_FILE_HEADER_BYTES]; /* that was sent last */
};

/* All zero: none. */
struct sent_logs {
    struct sent_log **logs;
    size_t n, capacity;
};

void sent_logs_done(struct sent_logs *list);

/* Adds existing logs of the run whose first log is `path`. */
void sent_logs_find(struct sent_logs *list, const char *path);

/* Looks for new data in the files. */
void sent_logs_look(struct sent_logs *list, enum sent_growth growth);

/* Call when the connection is lost. */
void sent_logs_wait(struct sent_logs *list);

/* False: a log waits for its parent's log, because it is named after it. */
bool sent_logs_may_begin(const struct sent_logs *list, const struct sent_log *log);

/* All work is done; sent_logs_are_sent: and everything was sent. */
bool sent_logs_are_over(const struct sent_logs *list);
bool sent_logs_are_sent(const struct sent_logs *list);
size_t sent_logs_n_under_way(const struct sent_logs *list);
bool sent_log_is_under_way(const struct sent_log *log);

/* The unsent bytes, as far as known if the file is not open. */
uint64_t sent_log_bytes_left(const struct sent_log *log);

#endif
