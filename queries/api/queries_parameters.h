/* SPDX-License-Identifier: MIT */
/*
 * queries_parameters: the list of parameters of a query, for clients (queries_set in queries.h).
 */
#ifndef MTRACE_QUERIES_QUERIES_PARAMETERS_H
#define MTRACE_QUERIES_QUERIES_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

/* Groups of parameters, for display. */
enum queries_group {
    QUERIES_WHOSE, /* which process or call site */
    QUERIES_ROWS,  /* which rows, their order and weight */
    QUERIES_GATE,  /* what makes the query fail (fail_if) */
    QUERIES_LOOK,
    QUERIES_FILTER,
};

struct queries_parameter {
    const char *name;  /* size_min; "-" equals "_" */
    const char *alias; /* NULL: none */
    const char *value; /* SIZE, in help; NULL: a flag */
    const char *help;
    enum queries_group group;
};

/* The parameter of this index; false after the last one. */
bool queries_parameter_at(size_t index, struct queries_parameter *ret_parameter);

/* The index of a name of `length` characters; -1: unknown. */
long queries_find_parameter(const char *name, size_t length);

/* The value of this parameter is the name of a file on this machine. */
bool queries_names_file(const char *name);

#endif
