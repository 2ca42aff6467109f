/* SPDX-License-Identifier: MIT */
/*
 * intake: what one sender says, done and answered. It knows of no connection: bytes of messages go in, messages come out.
 *
 * Model:   HELLO, then logs of the sender's numbers, at most RECEIVER_SESSION_LOGS at a time; a number is free again behind END.
 *          ACK tells of all bytes that the caller had read, once for each log.
 *          What is told is told once: that a log goes on when something of it came, and that it is cut when that was not told since
 *          something came. Who tries again and again while the disk is full fills no terminal.
 * Invariants
 *   IN-1 Whatever arrives, no more is kept than the logs that are begun; nothing is done for a message that is not in its place, and
 *        the intake has failed then.
 *   IN-2 An object that cannot be kept ends neither the connection nor a log. Objects take no more than half of what their sender may add.
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_RECEIVER_SESSION_H
#define MTRACE_REMOTE_RECEIVER_SESSION_H

#include "remote/receiver/object_store.h"
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
    RECEIVER_SESSION_CUT,     /* before its end, and why */
    RECEIVER_SESSION_UNENDED, /* all there is of it came, and it has no end */
};

struct receiver_session_log {
    struct store_log *log; /* NULL: the place is free */
    uint32_t number;
    uint64_t acked_bytes;
    bool is_reported; /* that it is begun, or goes on */
};

/* What one sender has added, by all its connections. */
struct receiver_session_share {
    uint64_t n_bytes;
    uint64_t n_object_bytes; /* of these, of objects */
};

struct receiver_session {
    struct store *store;
    /* What goes out; its failure is the intake's. */
    int (*put)(void *context, const struct wire_head *head, const void *payload, struct error *err);
    void (*emit)(void *context, enum receiver_session_news news, const struct store_log *log,
                 const char *why);
    /* What became of an object; NULL: nobody hears of it. */
    void (*emit_object)(void *context, enum wire_wish wish);
    void *context;
    uint64_t owner;                       /* of its logs in the store */
    uint64_t max_bytes;                   /* that this sender may add */
    struct receiver_session_share *share; /* that it has; the caller's */
    bool has_greeted;
    bool fetches_objects;
    struct object_file object; /* that comes now */
    uint32_t object_number;
    bool is_object_unwanted;           /* it was thrown away, and its rest still comes */
    uint64_t unwanted_bytes;           /* of that, at most */
    struct receiver_session_log *logs; /* RECEIVER_SESSION_LOGS, owned; NULL before HELLO */
};

/* All that reader has. On failure what was understood up to there is done. */
int receiver_session_take(struct receiver_session *intake, struct wire_reader *reader,
                          struct error *err);

/* It has greeted, and no log is begun that has not ended: it may go without a word. */
bool receiver_session_is_idle(const struct receiver_session *intake);

/* Lets go of all logs; of those that had not ended it is told why, unless it was. True: that was said of one at least, now or before. */
bool receiver_session_done(struct receiver_session *intake, const char *why);

#endif
