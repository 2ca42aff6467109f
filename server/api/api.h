/* SPDX-License-Identifier: MIT */
/*
 * api: the interface below /api/v1: every command of mtrace-query, asked over HTTP.
 *
 * Model:   GET /api/v1                     what is served, what can be asked, and how (api_meta.h)
 *          GET /api/v1/ID/COMMAND?name=value…  the rows of mtrace-query COMMAND --json, or --csv
 *          POST /api/v1/ID/sql             the body is one SELECT
 *          GET /api/v1/ID/values           what a filter may be given (values.h)
 *          GET /api/v1/ID/notes            what is missing from every figure, as rows of `note`; ?command=NAME&…: from this answer
 *          GET /api/v1/ID/source           a source file and what its lines allocate (source_text.h)
 *          GET /api/v1/events              when answers have changed (live.h)
 *          GET /api/v1/openapi.json        the same for tools (openapi.h)
 * Failure: 400 names the parameter and what is allowed; 404 an unknown recording, command, stack or
 *          site; 503 a question that took longer than its limit.
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
