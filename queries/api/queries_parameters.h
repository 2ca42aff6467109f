/* SPDX-License-Identifier: MIT */
/* queries_parameters: what a question may be told, as a client sees it (queries_set of queries.h). */
#ifndef MTRACE_QUERIES_QUERIES_PARAMETERS_H
#define MTRACE_QUERIES_QUERIES_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

/* What a client may show apart. */
enum queries_group {
    QUERIES_WHOSE, /* of which process or call site */
    QUERIES_ROWS,  /* which rows, in what order, weighed how */
    QUERIES_GATE,  /* what counts as bad */
    QUERIES_LOOK,
    QUERIES_FILTER,
};

struct queries_parameter {
    const char *name;  /* size_min; "-" is as good as "_" */
    const char *alias; /* NULL: none */
    const char *value; /* SIZE, in help; NULL: yes or no */
    const char *help;
    enum queries_group group;
};

/* The parameters one after the other: false behind the last. */
bool queries_parameter_at(size_t index, struct queries_parameter *ret_parameter);

/* The index of a name of so many characters; -1: there is none. */
long queries_find_parameter(const char *name, size_t length);

/* Whether the parameter of that name names a file of the machine that answers. */
bool queries_names_file(const char *name);

#endif
