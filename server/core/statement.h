/* SPDX-License-Identifier: MIT */
/*
 * statement: SQL of a client, run by a child process.
 *
 * SQLite looks for a stop neither inside a function nor while it prepares a statement, so only a
 * process can be bounded. The child is this program with STATEMENT_FLAG. It limits its CPU time,
 * memory and files, runs one query by queries.h, and writes the answer to stdout and an error to
 * stderr. It is killed one second after the time limit, and if its client leaves.
 *
 *   ST-1 The child reads one database and writes no file but SQLite's temporary ones.
 *   ST-2 The child ends at the latest with the server, or one second after its time limit.
 */
#ifndef MTRACE_SERVER_STATEMENT_H
#define MTRACE_SERVER_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct error;
struct exchange;
struct query_watchdog;

#define STATEMENT_FLAG "--run-statement"

/* One query: parameters as names and values, by turns. */
struct statement {
    const char *program; /* this one; NULL: statements are refused */
    const char *time_limit, *database;
    const char *const *pairs;
    size_t n_pairs;
    bool is_of_notes; /* answer with the notes of the query */
};

/* Runs the child under the watchdog and passes its answer on. */
int statement_run(struct query_watchdog *watch, const struct statement *statement,
                  struct exchange *exchange, struct error *err);

/* Notes as rows of `note`: an array that begins with the separator "[". */
struct statement_notes {
    FILE *out;
    const char *separator;
};

void statement_add_note(void *notes, const char *text);
void statement_end_notes(struct statement_notes *notes);

/* The child: the whole program if its first argument is STATEMENT_FLAG. Returns the exit status. */
int statement_child(int argc, char **argv);

#endif
