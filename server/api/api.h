/* SPDX-License-Identifier: MIT */
/*
 * api: the HTTP interface below /api/v1: every command of mtrace-query.
 *
 *   GET /api/v1                         recordings, commands and parameters (api_meta.h)
 *   GET /api/v1/ID/COMMAND?name=value…  the rows of mtrace-query COMMAND --json, or --csv
 *   POST /api/v1/ID/sql                 the body is one SELECT
 *   GET /api/v1/ID/values               values of a filter (values.h)
 *   GET /api/v1/ID/notes                what all answers lack, as rows of `note`;
 *                                       ?command=NAME&…: what this answer lacks
 *   GET /api/v1/ID/source               a source file and what its lines allocate (source_text.h)
 *   GET /api/v1/events                  when answers have changed
 *   GET /api/v1/openapi.json            a description for tools (openapi.h)
 *
 * Events are server-sent events that tell a page to reload its answers after a database changed.
 * The response does not end by itself. An event is named "data" (answers have changed) or "end" (no
 * longer followed: all rows are imported). Its data is an object: recording, is_growing,
 * duration_ns. At the start each recording gets one event "data". A comment every few seconds
 * detects disconnected clients.
 *
 * Source: HTML Living Standard, Server-sent events,
 *   https://html.spec.whatwg.org/multipage/server-sent-events.html
 *
 * Errors: 400 names the parameter and what is allowed; 404 an unknown recording, command, stack or
 * call site; 503 a query that exceeded its time limit.
 */
#ifndef MTRACE_SERVER_API_H
#define MTRACE_SERVER_API_H

#include <stdbool.h>

struct error;
struct exchange;
struct request_place;

/* The path is below /api/. */
bool api_is_asked(const struct exchange *exchange);

int api_answer(const struct request_place *place, struct exchange *exchange, struct error *err);

#endif
