/* SPDX-License-Identifier: MIT */
/*
 * query_names: which of the names on the command line is the command, which the database.
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

/* names are sorted in place. */
int query_names_assign(const char **names, int n_names, struct query_names *ret, struct error *err);

/* The same where the database is given already, and no name is looked for among files. */
int query_names_assign_sealed(const char *database, const char *const *names, int n_names,
                              struct query_names *ret, struct error *err);

#endif
