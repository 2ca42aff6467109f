/* SPDX-License-Identifier: MIT */
/*
 * bytehound: the REST interface of bytehound's server, so that scripts written for it go on working.
 *
 * Model:   GET /list and /data/ID/…, the parameters and field names of bytehound 0.11; docs/rest.md says
 *          where an answer is another one, because bytehound's is wrong or nothing of the kind is recorded.
 *          Every answer is made of statements over the same tables and filters as our own.
 * Failure: what bytehound ignored or died of is refused: 400 names the parameter, 404 what there is none of.
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
