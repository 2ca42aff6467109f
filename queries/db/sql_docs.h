/* SPDX-License-Identifier: MIT */
/*
 * sql_docs: the comments of the schema and the views, for `describe`.
 *
 * The comment of a view stands above its CREATE VIEW and begins "-- name: ". The comment of a table
 * follows "CREATE TABLE name (". The comment of a column follows the first "--" of its line. The
 * texts are embedded at build time.
 */
#ifndef MTRACE_QUERIES_SQL_DOCS_H
#define MTRACE_QUERIES_SQL_DOCS_H

#include <stddef.h>

struct sql_object {
    const char *definition; /* from CREATE on; static */
    const char *end;        /* after its last character */
    const char *comment;    /* start of the comment, NULL if there is none; static */
};

/* True if the schema or the views define this name. */
int sql_docs_find(const char *name, struct sql_object *ret_object);

/* The first line of the comment, without the name: what one row is. */
void sql_docs_summary(const struct sql_object *object, char *ret_text, size_t size);

/* The other lines of the comment, each ended by "\n"; "" if there are none. */
void sql_docs_details(const struct sql_object *object, char *ret_text, size_t size);

/* The comment of a column; "" if it has none. */
void sql_docs_column(const struct sql_object *object, const char *column, char *ret_text,
                     size_t size);

#endif
