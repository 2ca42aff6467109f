/* SPDX-License-Identifier: MIT */
/*
 * request: runs a query (queries.h) for an HTTP request and sends its answer.
 *
 * Parameters are those of mtrace-query, with "_" in their names; `argument` is the argument of the
 * command. A request whose answer the client has, from an unchanged database, is answered by the
 * ETag.
 *
 * Invariants
 *   QU-1 An answer is what mtrace-query prints: both use queries.h.
 *   QU-2 Parameters that name files or use --fail-if are refused (request_allows_parameter). A
 *        second database is one of those that are served.
 *   QU-3 A message names the recording and no path of this machine.
 *
 * Failure: the errors of queries_run, and ERROR_NOT_FOUND for an unknown command.
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

/* What a query needs in addition to the request. */
struct request_place {
    const struct recordings *recordings;
    struct query_watchdog *watch;
    const char *time_limit; /* of a report, in the syntax of the parameter */
    const char *sql_limit;  /* of a statement of the client */
    const char *program;    /* runs such a statement (statement.h); NULL: they are refused */
    const char *source_dir; /* source files below it may be read; canonical; NULL: none */
    bool is_confidential;   /* paths and command lines are left out */
    bool is_open;           /* to other machines: source files outside of source_dir are not read */
};

struct request {
    const char *command;
    const char *argument; /* replaces the arguments of the request; NULL: use those */
    const char *const
        *own;         /* parameters that are not part of the query, ended by NULL; NULL: none */
    bool is_json;     /* ignore the format of the request */
    bool is_of_notes; /* answer with the notes of the query, as rows of `note` */
    bool is_of_rows;  /* takes only format, count and skip beside `own` */
};

int request_answer(const struct request_place *place, const struct recording *recording,
                   const struct request *asked, struct exchange *exchange, struct error *err);

/* Sets the ETag for this recording; true: the client has the answer already. */
bool request_is_known(const struct recording *recording, const struct recording *other,
                      struct exchange *exchange);

/* Replaces the path of the recording by its name in a message. */
void request_hide_path(struct error *err, const struct recording *recording);

/* The parameter may be used over HTTP. False for parameters that name files of this machine,
 * concern terminals, or lift a limit. */
bool request_allows_parameter(const char *name);

#endif
