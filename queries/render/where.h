/* SPDX-License-Identifier: MIT */
/*
 * where: a place in the code as one short text.
 *
 * Model: "Session::clone  session.cpp:88", "Session::clone  libsession.so", "libsession.so", or
 * "-": the function, and the best of source line, source, and module that is known.
 */
#ifndef MTRACE_QUERIES_WHERE_H
#define MTRACE_QUERIES_WHERE_H

#include <stddef.h>

struct sqlite3_stmt;

/* The columns of a row that hold the parts. */
struct where_columns {
    int function;
    int source;
    int line;
    int module;
};

void where_format(struct sqlite3_stmt *row, const struct where_columns *columns, char *ret_text,
                  size_t size);

#endif
