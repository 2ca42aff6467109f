/* SPDX-License-Identifier: MIT */
/*
 * receiver: the connections of mtrace-gather: authentication, time limits and messages.
 *
 * One loop serves all of them; no connection can block it, only a blocking disk.
 *
 * Invariants
 *   RC-1 There are at most max_connections. A new one replaces the oldest unauthenticated one; if
 *        there is none, it is rejected.
 *   RC-2 A connection is closed without authentication within RECEIVER_SHAKE_NS, or without a
 *        complete message for RECEIVER_SILENCE_NS.
 *   RC-3 Output buffers are bounded: if a peer does not read, its messages are not read.
 *   RC-4 A rejected peer gets the reason: its data is discarded until it closes, at most for
 *        RECEIVER_LEAVE_NS.
 *
 * Notes: RC-4: closing with unread data would reset the connection before the peer has read the
 * reason.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_RECEIVER_H
#define MTRACE_REMOTE_RECEIVER_H

#include "remote/receiver/store.h"
#include "remote/wire/address.h"
#include "remote/wire/security.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define RECEIVER_SHAKE_NS   UINT64_C(10000000000)
#define RECEIVER_LEAVE_NS   UINT64_C(2000000000)
#define RECEIVER_SILENCE_NS UINT64_C(60000000000)

enum {
    RECEIVER_MAX_CONNECTIONS = 1024
};

struct receiver_settings {
    const struct security *security;
    struct store *store;
    struct address address;
    size_t max_connections;
    uint64_t max_sender_bytes;
    const char *folder; /* for messages */
    bool is_announcing;
};

/* Runs until SIGTERM or SIGINT. */
int receiver_run(const struct receiver_settings *settings, struct error *err);

#endif
