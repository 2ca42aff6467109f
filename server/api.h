/* SPDX-License-Identifier: MIT */
/*
 * api: the interface below /api/v1: every command of mtrace-query, asked over HTTP.
 *
 * Model:   GET /api/v1                     what is served, what can be asked, and how
 *          GET /api/v1/ID/COMMAND?name=value…  the rows of mtrace-query COMMAND --json, or --csv
 *          POST /api/v1/ID/sql             the body is one SELECT
 *          GET /api/v1/openapi.json        the same for tools (openapi.h)
 *          The parameters are those of mtrace-query under their names with "_"; `argument` is what
 *          stands behind the command there; show_sql=yes answers the statement instead.
 * Invariants
 *   AP-1 an answer is what mtrace-query prints: both are made by queries/library.
 *   AP-2 parameters that name files or gates (output, force, suppressions, fail_if) are refused.
 * Failure: 400 names the parameter and what is allowed; 404 an unknown recording, command, stack or
 *          site; 503 a question that took longer than its limit.
 */
#ifndef MTRACE_SERVER_API_H
#define MTRACE_SERVER_API_H

#include <stdbool.h>

struct error;
struct exchange;
struct recordings;
struct watch;

struct api_context {
    const struct recordings *recordings;
    struct watch *watch;
    const char *time_limit; /* of one question, as the parameter takes it */
};

/* The path is below /api/. */
bool api_is_asked(const struct exchange *exchange);

int api_answer(const struct api_context *context, struct exchange *exchange, struct error *err);

#endif
