/* SPDX-License-Identifier: MIT */
/*
 * sql_docs: what the comments of the schema and the views say.
 *
 * Model: a view's comment stands above its CREATE VIEW and begins "-- name: "; a table's stands
 *        behind "CREATE TABLE name (". A column's comment is behind the first "--" of the line that
 *        names it. The texts are those embedded when the program was built.
 */
#ifndef MTRACE_QUERIES_SQL_DOCS_H
#define MTRACE_QUERIES_SQL_DOCS_H

#include <stddef.h>

struct sql_object {
    const char *definition; /* from CREATE on; static */
    const char *end;        /* behind its last character */
    const char *comment;    /* start of the comment, NULL if there is none; static */
};

/* True if the schema or the views make something of that name. */
int sql_docs_find(const char *name, struct sql_object *ret_object);

/* What one row is: the first line of the comment, without the name. */
void sql_docs_summary(const struct sql_object *object, char *ret_text, size_t size);

/* The lines of the comment behind the first, "" if there are none; lines end in "\n". */
void sql_docs_details(const struct sql_object *object, char *ret_text, size_t size);

/* What a column is; "" when nothing is said. */
void sql_docs_column(const struct sql_object *object, const char *column, char *ret_text,
                     size_t size);

#endif
