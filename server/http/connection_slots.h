/* SPDX-License-Identifier: MIT */
/*
 * places: who holds one of the server's places for connections, and until when it must have done its part.
 *
 * Model:   a connection is either waited for (for a request's head, its body, or that it takes what is sent),
 *          until a deadline that no single byte puts off, or worked for. Who is late is cut off. When more come than there
 *          are places, the one that has been waited for longest makes room, so that slow or silent clients
 *          keep nobody out.
 * Invariants
 *   PL-1 a socket is shut down only between connection_slots_take and connection_slots_leave: its number is not another's.
 *   PL-2 what is worked for is never cut off to make room.
 * Threads: any; one of its own, which looks for who is late.
 */
#ifndef MTRACE_SERVER_CONNECTION_SLOTS_H
#define MTRACE_SERVER_CONNECTION_SLOTS_H

#include <stddef.h>

struct error;
struct place;
struct connection_slots;

int connection_slots_start(size_t n_places, struct connection_slots **ret, struct error *err);

/* Every place must have been left. NULL is fine. */
void connection_slots_stop(struct connection_slots *places);

/* Of a connection that has come, and is waited for; NULL: no memory. */
struct place *connection_slots_take(struct connection_slots *places, int socket, int seconds);

/* Before the socket is closed. NULL is fine. */
void connection_slots_leave(struct place *place);

/* NULL is fine. */
void connection_slots_wait_for(struct place *place, int seconds);
void connection_slots_work_for(struct place *place);

#endif
