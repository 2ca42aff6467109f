/* SPDX-License-Identifier: MIT */
/*
 * queries: questions about recordings, for any client: the command line, a server, a test.
 *
 * Model: a question is made for a command, given its database, arguments and parameters as texts,
 *        and asked once:
 *
 *            queries_new -> queries_set… -> queries_ask -> queries_free
 *
 *        The answer goes to a FILE or a function of the client; remarks, which are no part of it, go
 *        to another one. Each question opens the database for itself, read-only.
 * Invariants: Q-1 nothing here prints, ends the program, or changes its state (signals, locale,
 *        directory). Q-2 questions share nothing.
 * Threads: a question belongs to one thread at a time; questions of different threads need no lock.
 *        queries_interrupt may be called by any thread and by a signal handler.
 * Failure: ERROR_USAGE names the parameter, what was read, and what is allowed.
 */
#ifndef MTRACE_QUERIES_QUERIES_H
#define MTRACE_QUERIES_QUERIES_H

#include "lib/logfile/left_out.h"
#include "queries/api/queries_parameters.h"
#include "queries/core/command.h"

#include <stdio.h>

struct error;
struct queries; /* a question */

/* ---- what can be asked ---- */

/* The table of command.h; ends with name NULL. ERROR_USAGE suggests one, or lists all. */
extern const struct command *const queries_commands;
int queries_find_command(const char *name, const struct command **ret_command, struct error *err);

/* ---- a question ---- */

/* Where an answer goes, and how it looks. */
struct queries_output {
    FILE *out;                                                   /* NULL: write is used */
    bool (*write)(void *context, const char *data, size_t size); /* false: no more is wanted */
    void *context;
    const char *name; /* of a file: its ending says how it is packed; NULL: none */
    bool is_terminal; /* what is no text is refused */
    bool is_coloured;
    int width; /* in columns that tables fit into; 0: no limit */
};

/* remark: one line each, without its end; NULL: nobody wants them. NULL: no memory. */
struct queries *queries_new(void (*note)(void *context, const char *text), void *context);
void queries_free(struct queries *question);

void queries_set_command(struct queries *question, const struct command *command);

/* From now on parameters and arguments open no file: for questions of those who may not read and write what
 * we may. */
void queries_seal(struct queries *question);

/* These copy the text. value NULL is "yes". */
int queries_set_database(struct queries *question, const char *path, struct error *err);
int queries_add_argument(struct queries *question, const char *text, struct error *err);
int queries_set(struct queries *question, const char *name, const char *value, struct error *err);

/* Whether the command can be asked so; the database is not looked at. */
int queries_check(const struct queries *question, struct error *err);

/* What its database must have, as far as one knows without it; after queries_check. */
enum left_out_needs queries_needs(const struct queries *question);

/* Ends the question that is being asked, or is asked next, with ERROR_INTERRUPTED, as the parameter
 * time_limit does. */
void queries_interrupt(struct queries *question);

/* Checks, opens and answers; once. The client closes `out` and sees whether that worked. */
int queries_ask(struct queries *question, const struct queries_output *output, struct error *err);

/* The same, but what is remarked beside the answer alone, which is not made; once. */
int queries_ask_notes(struct queries *question, struct error *err);

enum {
    QUERIES_EXIT_FAIL_IF = 3 /* what a program ends with that has_failed */
};

/* After an answer: whether rows were found for which the parameter fail_if holds. */
bool queries_has_failed(const struct queries *question);

#endif
