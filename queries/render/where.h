/* SPDX-License-Identifier: MIT */
/*
 * where: a place in the code as one short text: the function, and the best known of source line,
 * source and module. Examples: "Session::clone  session.cpp:88", "Session::clone  libsession.so",
 * "libsession.so", "-".
 */
#ifndef MTRACE_QUERIES_WHERE_H
#define MTRACE_QUERIES_WHERE_H

#include <stddef.h>

struct sqlite3_stmt;

/* The columns of a row with the parts. */
struct where_columns {
    int function;
    int source;
    int line;
    int module;
};

void where_format(struct sqlite3_stmt *row, const struct where_columns *columns, char *ret_text,
                  size_t size);

#endif
