/* SPDX-License-Identifier: MIT */
/*
 * receiver: the connections of mtrace-gather: who is let in, how long, and what is said about it.
 *
 * Model:   one loop over all of them; none can make it wait, but a disk that does.
 * Invariants
 *   RC-1 There are at most max_connections. A new one takes the place of the oldest of those that have not yet proved who they are;
 *        if all have, it is turned away.
 *   RC-2 Who does not prove who he is within RECEIVER_SHAKE_NS, or sends no whole message for RECEIVER_SILENCE_NS, is cut off.
 *   RC-3 What waits to go out is bounded: who does not read is not read from.
 *   RC-4 Who is refused is told why: what it still sends is read and thrown away until it leaves, at most for RECEIVER_LEAVE_NS. Closed
 *        with something unread, the connection would be gone before it had read why.
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
    RECEIVER_MOST_CONNECTIONS = 1024
};

struct receiver_settings {
    const struct security *security;
    struct store *store;
    struct address address;
    size_t max_connections;
    uint64_t max_sender_bytes;
    const char *folder; /* to be said */
    bool is_announcing;
    bool fetches_objects;
};

/* Until SIGTERM or SIGINT. */
int receiver_run(const struct receiver_settings *settings, struct error *err);

#endif
