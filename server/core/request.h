/* SPDX-License-Identifier: MIT */
/*
 * question: a request's parameters made a question of queries/library, and its answer the request's.
 *
 * Model:   the parameters are those of mtrace-query under their names with "_"; `argument` is what
 *          stands behind the command there. A request that was answered before, from a database that
 *          has not changed since, is answered by its ETag alone.
 * Invariants
 *   QU-1 an answer is what mtrace-query prints: both are made by queries/library.
 *   QU-2 parameters that name files or gates (allowed.h) are refused; a second database is one of those that are served.
 *   QU-3 a message names the recording and no path of this machine.
 * Failure: as queries_ask, and ERROR_NOT_FOUND for a command that there is none of.
 */
#ifndef MTRACE_SERVER_REQUEST_H
#define MTRACE_SERVER_REQUEST_H

#include "server/core/query_watchdog.h"

#include <stdbool.h>
#include <stddef.h>

struct error;
struct exchange;
struct recording;
struct recordings;

/* What a question needs beside the request. */
struct request_place {
    const struct recordings *recordings;
    struct query_watchdog *watch;
    const char *time_limit; /* of a report, as the parameter takes it */
    const char *sql_limit;  /* of a statement that a client wrote */
};

struct request {
    const char *command;
    const char *argument; /* in place of those of the request; NULL: those of the request */
    const char *const
        *own;         /* parameters that are not for the question, NULL at the end; NULL: none */
    bool is_json;     /* whatever the request says */
    bool is_of_notes; /* rows of `note`, what must be said beside the answer, in place of it */
    bool is_of_rows;  /* takes format, count and skip alone beside its own */
};

int request_answer(const struct request_place *place, const struct recording *recording,
                   const struct request *asked, struct exchange *exchange, struct error *err);

/* Sets the ETag of a request to this recording; true when the client has the answer already. */
bool request_is_known(const struct recording *recording, const struct recording *other,
                      struct exchange *exchange);

/* What the watch is to know of a question that makes this answer. */
struct watched request_watched(const struct exchange *exchange, void (*interrupt)(void *question),
                               void *question);

/* The recording's name in place of its path, wherever a message has it. */
void request_hide_path(struct error *err, const struct recording *recording);

#endif
