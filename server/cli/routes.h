/* SPDX-License-Identifier: MIT */
/*
 * routes: chooses the part of the server that answers a request, by its path.
 */
#ifndef MTRACE_SERVER_ROUTES_H
#define MTRACE_SERVER_ROUTES_H

struct error;
struct exchange;
struct request_place;

int routes_answer(const struct request_place *place, struct exchange *exchange, struct error *err);

#endif
