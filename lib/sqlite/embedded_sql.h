/* SPDX-License-Identifier: MIT */
/*
 * embedded_sql: the .sql files of the project as they were when it was built
 * (cmake/embed_sql.cmake).
 *
 * Model: two tables in load order, each ended by an entry whose name is NULL. `text` is UTF-8,
 *        NUL-terminated behind `size` bytes, static. importer/schema/ makes tables, queries/views/
 *        one public view per file (`name` is the view's name; internal views begin with '_').
 */
#ifndef MTRACE_LIB_EMBEDDED_SQL_H
#define MTRACE_LIB_EMBEDDED_SQL_H

#include <stddef.h>

struct embedded_sql {
    const char *name; /* file name without ".sql" */
    const char *text;
    size_t size;
};

extern const struct embedded_sql embedded_schema[];
extern const struct embedded_sql embedded_views[];

#endif
