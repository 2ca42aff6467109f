/* SPDX-License-Identifier: MIT */
/*
 * embedded_sql: the .sql files of the project as they were at build time (cmake/embed_sql.cmake).
 *
 * Two tables in load order, each ended by an entry whose name is NULL. `text` is static UTF-8 with
 * a NUL after `size` bytes. importer/schema/ makes tables. queries/views/ has one public view per
 * file; `name` is the view's name, and internal views begin with '_'.
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
