/* SPDX-License-Identifier: MIT */
/*
 * live: server-sent events that tell a page to reload its answers after a database changed.
 *
 * GET /api/v1/events does not end by itself. An event is named "data" (answers have changed) or
 * "end" (no longer followed: all rows are imported). Its data is an object: recording, is_growing,
 * duration_ns. At the start each recording gets one event "data". A comment every few seconds
 * detects disconnected clients.
 *
 * Source: HTML Living Standard, Server-sent events,
 *   https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
#ifndef MTRACE_SERVER_LIVE_H
#define MTRACE_SERVER_LIVE_H

struct error;
struct exchange;
struct recordings;

int live_answer(const struct recordings *recordings, struct exchange *exchange, struct error *err);

#endif
