/* SPDX-License-Identifier: MIT */
/*
 * queries: the public interface to queries, for any client: a command line, a server, a test.
 *
 * A query has a command, a database, arguments and parameters, all given as text. It runs once:
 *
 *     queries_new -> queries_set… -> queries_run -> queries_free
 *
 * The answer goes to a FILE or to a function of the client. Notes are not part of the answer and go
 * to another function. Each query opens the database itself, read-only.
 *
 * Invariants
 *   Q-1 No function here prints, exits, or changes process state (signals, locale, directory).
 *   Q-2 Queries share nothing.
 *
 * Threads: one at a time per query. Queries of different threads need no lock. Any thread and any
 * signal handler may call queries_interrupt.
 * Errors: ERROR_USAGE names the parameter, its value, and what is allowed.
 */
#ifndef MTRACE_QUERIES_QUERIES_H
#define MTRACE_QUERIES_QUERIES_H

#include "lib/logfile/left_out.h"
#include "queries/api/queries_parameters.h"
#include "queries/core/command.h"

#include <stdint.h>
#include <stdio.h>

struct error;
struct query_request; /* a query */

/* ---- commands ---- */

/* The table of command.h, ended by a NULL name. For an unknown name ERROR_USAGE suggests a similar
 * one or lists all. */
extern const struct command *const queries_commands;
int queries_find_command(const char *name, const struct command **ret_command, struct error *err);

/* ---- queries ---- */

/* Where an answer goes, and how it looks. */
struct queries_output {
    FILE *out;                                                   /* NULL: call `write` */
    bool (*write)(void *context, const char *data, size_t size); /* false: stop */
    void *context;
    const char *name; /* of the output file: its suffix selects the compression; NULL: none */
    bool is_terminal; /* binary output is refused */
    bool is_coloured;
    int width; /* of tables, in columns; 0: no limit */
};

/* note: called for each note, one line without a newline; NULL: notes are dropped. Returns NULL if
 * there is no memory. */
struct query_request *queries_new(void (*note)(void *context, const char *text), void *context);
void queries_free(struct query_request *request);

void queries_set_command(struct query_request *request, const struct command *command);

/* Makes this an untrusted request: from now on parameters and arguments open no file. For clients
 * that must not read or write the files of this process. */
void queries_set_untrusted(struct query_request *request);

/* The functions below copy the text. value NULL means "yes". */
int queries_set_database(struct query_request *request, const char *path, struct error *err);
int queries_add_argument(struct query_request *request, const char *text, struct error *err);
int queries_set(struct query_request *request, const char *name, const char *value,
                struct error *err);

/* Checks command, arguments and parameters without the database. */
int queries_check(const struct query_request *request, struct error *err);

/* The tables that the query needs, as far as they are known without the database. Call
 * queries_check before. */
enum left_out_needs queries_needs(const struct query_request *request);

/* The parameter time_limit; 0: none. */
int64_t queries_time_limit_ns(const struct query_request *request);

/* Stops the current or the next run with ERROR_INTERRUPTED, like the parameter time_limit. */
void queries_interrupt(struct query_request *request);

/* Checks and runs the query, once. The client closes `out` and checks it for write errors. */
int queries_run(struct query_request *request, const struct queries_output *output,
                struct error *err);

/* Reports the notes of the query without computing the answer, once. */
int queries_run_notes(struct query_request *request, struct error *err);

enum {
    QUERIES_EXIT_FAIL_IF = 3 /* exit status of a program when queries_has_failed is true */
};

/* After an answer: the expression of the parameter fail_if held for a row. */
bool queries_has_failed(const struct query_request *request);

#endif
