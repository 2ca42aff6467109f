/* SPDX-License-Identifier: MIT */
/*
 * live: server-sent events: a page is told when a database has changed, and asks anew what it shows.
 *
 * Model:   GET /api/v1/events never ends by itself. Each event is named "data" (other answers than before) or
 *          "end" (followed no longer: every row is in) and has an object as its data: recording,
 *          is_growing, duration_ns. At the start each recording has one event "data". A comment every few seconds
 *          finds clients that have gone.
 * Source: HTML Living Standard, Server-sent events, https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
#ifndef MTRACE_SERVER_LIVE_H
#define MTRACE_SERVER_LIVE_H

struct error;
struct exchange;
struct recordings;

int live_answer(const struct recordings *recordings, struct exchange *exchange, struct error *err);

#endif
