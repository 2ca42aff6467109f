/* SPDX-License-Identifier: MIT */
/*
 * bytehound: the REST interface that the README of bytehound's server documents, and its timelines,
 * so that existing scripts keep working.
 *
 * GET /list and /data/ID/…, with bytehound's parameters and field names. docs/rest.md lists the
 * answers that differ because bytehound's is wrong or mtrace does not record the data. Answers come
 * from statements over the tables and filters of our own reports, or from our commands.
 *
 * Errors: 400 for a parameter that bytehound ignores or crashes on, 404 for a missing object.
 */
#ifndef MTRACE_SERVER_BYTEHOUND_H
#define MTRACE_SERVER_BYTEHOUND_H

#include <stdbool.h>

struct error;
struct exchange;
struct request_place;

/* The path is /list or below /data/. */
bool bytehound_is_asked(const struct exchange *exchange);

int bytehound_answer(const struct request_place *place, struct exchange *exchange,
                     struct error *err);

#endif
