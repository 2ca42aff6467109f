/* SPDX-License-Identifier: MIT */
/*
 * receiver_session: handles and answers the messages of one sender. It knows no connection: message
 * bytes go in, messages come out.
 *
 * After HELLO come logs, numbered by the sender, at most RECEIVER_SESSION_LOGS at a time; END frees
 * a number. One ACK per log covers all bytes that the caller had read. Each event is emitted once:
 * that a log continues when data of it arrives, and that it was cut unless that was emitted since
 * its last data. A sender that keeps retrying while the disk is full does not fill the terminal.
 *
 * Invariants
 *   IN-1 Memory is bounded by the logs in progress; an unexpected message has no effect and makes
 *        the session fail.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_RECEIVER_SESSION_H
#define MTRACE_REMOTE_RECEIVER_SESSION_H

#include "remote/receiver/store.h"
#include "remote/wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum {
    RECEIVER_SESSION_LOGS = 256
};

enum receiver_session_news {
    RECEIVER_SESSION_BEGUN,
    RECEIVER_SESSION_RESUMED,
    RECEIVER_SESSION_ENDED,
    RECEIVER_SESSION_CUT,     /* before its end; `why` has the reason */
    RECEIVER_SESSION_UNENDED, /* all data arrived, but the log has no end */
};

struct receiver_session_log {
    struct store_log *log; /* NULL: free slot */
    uint32_t number;
    uint64_t acked_bytes;
    bool is_reported; /* its begin or continuation was emitted */
};

/* Bytes that one sender has added on all its connections. */
struct receiver_session_share {
    uint64_t n_bytes;
};

struct receiver_session {
    struct store *store;
    /* Sends a message; a failure makes the session fail. */
    int (*put)(void *context, const struct wire_head *head, const void *payload, struct error *err);
    void (*emit)(void *context, enum receiver_session_news news, const struct store_log *log,
                 const char *why);
    void *context;
    uint64_t owner;                       /* of its logs in the store */
    uint64_t max_bytes;                   /* limit for this sender */
    struct receiver_session_share *share; /* what it has added; the caller's */
    bool has_greeted;
    struct receiver_session_log *logs; /* RECEIVER_SESSION_LOGS, owned; NULL before HELLO */
};

/* Handles everything in reader. On failure, messages before the failing one have been handled. */
int receiver_session_take(struct receiver_session *intake, struct wire_reader *reader,
                          struct error *err);

/* HELLO has arrived and all logs have ended: the connection may close without a message. */
bool receiver_session_is_idle(const struct receiver_session *intake);

/* Releases all logs and emits why those without an end were cut, unless that was emitted. True: at
 * least one was cut, now or before. */
bool receiver_session_done(struct receiver_session *intake, const char *why);

#endif
