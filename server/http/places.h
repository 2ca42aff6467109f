/* SPDX-License-Identifier: MIT */
/*
 * places: who holds one of the server's places for connections, and until when it must have done its part.
 *
 * Model:   a connection is either waited for (for a request's head, its body, or that it takes what is sent),
 *          until a deadline that no single byte puts off, or worked for. Who is late is cut off. When more come than there
 *          are places, the one that has been waited for longest makes room, so that slow or silent clients
 *          keep nobody out.
 * Invariants
 *   PL-1 a socket is shut down only between places_take and places_leave: its number is not another's.
 *   PL-2 what is worked for is never cut off to make room.
 * Threads: any; one of its own, which looks for who is late.
 */
#ifndef MTRACE_SERVER_PLACES_H
#define MTRACE_SERVER_PLACES_H

#include <stddef.h>

struct error;
struct place;
struct places;

int places_start(size_t n_places, struct places **ret, struct error *err);

/* Every place must have been left. NULL is fine. */
void places_stop(struct places *places);

/* Of a connection that has come, and is waited for; NULL: no memory. */
struct place *places_take(struct places *places, int socket, int seconds);

/* Before the socket is closed. NULL is fine. */
void places_leave(struct place *place);

/* NULL is fine. */
void places_wait_for(struct place *place, int seconds);
void places_work_for(struct place *place);

#endif
