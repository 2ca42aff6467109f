/* SPDX-License-Identifier: MIT */
/*
 * foreign_database: a small database of mtrace, changed by another program.
 *
 * Model: the rows are those of tests/sql and tests/cli/fixtures. A program of bytes changes them:
 *        cells, columns, rows and keys to values that hurt, of any type whatever the schema says,
 *        ids into one another's, tables dropped, views, triggers and indexes put in. The
 *        definitions of tables are ours again at the end, so that changes are reached; then come
 *        changes of sqlite_schema itself, of the headers of pages and of the file, and of bytes.
 *        A program that begins with "--" is SQL up to the next byte 0: named cases.
 */
#ifndef MTRACE_FUZZ_FOREIGN_DATABASE_H
#define MTRACE_FUZZ_FOREIGN_DATABASE_H

#include <stddef.h>
#include <stdint.h>

/* Writes the database that the program makes to a file; aborts on failure. program is not NULL,
 * also if size is 0. */
void foreign_database_write(const uint8_t *program, size_t size, const char *path);

#endif
