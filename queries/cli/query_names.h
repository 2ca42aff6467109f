/* SPDX-License-Identifier: MIT */
/*
 * query_names: finds the command, the database and the arguments among the names of a command line.
 */
#ifndef MTRACE_QUERIES_QUERY_NAMES_H
#define MTRACE_QUERIES_QUERY_NAMES_H

struct command;
struct error;

enum {
    QUERY_MAX_NAMES = 8
};

struct query_names {
    const struct command *command;
    const char *database;                   /* NULL for commands that need none */
    const char *arguments[QUERY_MAX_NAMES]; /* of the command */
    int n_arguments;
};

/* Sorts names in place. */
int query_names_assign(const char **names, int n_names, struct query_names *ret, struct error *err);

/* The same for a known database: treats no name as a file. */
int query_names_assign_sealed(const char *database, const char *const *names, int n_names,
                              struct query_names *ret, struct error *err);

#endif
