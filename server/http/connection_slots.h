/* SPDX-License-Identifier: MIT */
/*
 * connection_slots: the limited connections of the server and their deadlines.
 *
 * The server either waits for a connection (for the request's head, its body, or the client to
 * read) or works on it. A wait has a deadline that single bytes do not extend; a late connection is
 * shut down. If all slots are taken, a new connection replaces the one that has waited longest, so
 * slow or silent clients cannot block others.
 *
 * Invariants
 *   PL-1 A socket is shut down only between connection_slots_take and connection_slots_leave: its
 *        number is not reused in this time.
 *   PL-2 A connection that is being worked on is never shut down to free its slot.
 *
 * Threads: any. A thread of its own shuts down late connections.
 */
#ifndef MTRACE_SERVER_CONNECTION_SLOTS_H
#define MTRACE_SERVER_CONNECTION_SLOTS_H

#include <stddef.h>

struct error;
struct place;
struct connection_slots;

int connection_slots_start(size_t n_places, struct connection_slots **ret, struct error *err);

/* All slots must be free. NULL is fine. */
void connection_slots_stop(struct connection_slots *places);

/* Takes a slot for a new connection and waits for it; NULL: no memory. */
struct place *connection_slots_take(struct connection_slots *places, int socket, int seconds);

/* Call it before the socket is closed. NULL is fine. */
void connection_slots_leave(struct place *place);

/* NULL is fine. */
void connection_slots_wait_for(struct place *place, int seconds);
void connection_slots_work_for(struct place *place);

#endif
