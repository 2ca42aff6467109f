/* SPDX-License-Identifier: MIT */
/*
 * sent_logs: the logs of one run that are sent, and how far each is.
 *
 * Model:   a log waits for its turn, is announced, flows and ends; a connection that is lost makes those under way wait again. Files are found
 *          beside the run's first one, parents before their children, and a file that is looked at gains what can be sent (log_tail.h).
 * Invariants
 *   SO-1 A log keeps its number, its place in the list: the receiver knows it by that.
 *   SO-2 At most SENT_LOGS_AT_ONCE files are looked at at a time.
 * Threads: one.
 * Failure: a log that there is no memory for is found again with the next look.
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
    SENT_STATE_WAITING, /* for its turn, or its first frame */
    SENT_STATE_BEGUN,   /* until HAVE comes */
    SENT_STATE_FLOWING,
    SENT_STATE_ENDING, /* until DONE comes */
    SENT_STATE_SENT,
    SENT_STATE_STUCK,  /* the receiver has lost what was given back here */
    SENT_STATE_NO_LOG, /* there is nothing to send of it */
};

/* Will files still grow? */
enum sent_growth {
    SENT_GROWTH_GOES_ON, /* or what there is ends with a part of a frame */
    SENT_GROWTH_IS_OVER,
    SENT_GROWTH_OF_EACH, /* nobody told us: as the file looks */
};

struct sent_log {
    char *path; /* owned */
    uint64_t path_hash;
    struct log_tail tail;
    enum sent_state state;
    uint64_t run_id, parent_run_id; /* 0: not known yet */
    uint64_t sent_bytes;            /* put into the channel */
    uint64_t acked_bytes;           /* written there */
    uint64_t most_bytes;            /* that ever were */
    uint64_t objects_at;            /* how far it was looked for what it names */
    uint64_t
        asked_sync; /* acknowledged when the receiver was asked to bring it to the disk; 0: not on this connection */
    uint8_t page[LOG_FILE_HEADER_BYTES]; /* that was sent last */
};

/* All zero: none. */
struct sent_logs {
    struct sent_log **logs;
    size_t n, capacity;
};

void sent_logs_done(struct sent_logs *list);

/* Adds what there is of the run whose first log is `path`. */
void sent_logs_find(struct sent_logs *list, const char *path);

/* Finds what is new in the files. */
void sent_logs_look(struct sent_logs *list, enum sent_growth growth);

/* The connection is lost. */
void sent_logs_wait(struct sent_logs *list);

/* A log waits for that of its parent, after which it is named. */
bool sent_logs_may_begin(const struct sent_logs *list, const struct sent_log *log);

/* Nothing is left to do; sent_logs_are_sent: and nothing is left. */
bool sent_logs_are_over(const struct sent_logs *list);
bool sent_logs_are_sent(const struct sent_logs *list);
size_t sent_logs_n_under_way(const struct sent_logs *list);
bool sent_log_is_under_way(const struct sent_log *log);

/* Of what can be sent; as far as is known what there is of a file that is not open. */
uint64_t sent_log_bytes_left(const struct sent_log *log);

#endif
