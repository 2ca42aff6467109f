/* SPDX-License-Identifier: MIT */
/*
 * timely_functions: replaces SQL functions that can take long in a single call, so that a user's
 * statement can be stopped in time.
 *
 * SQLite checks for a stop where it loops, not inside a function and not between the functions of
 * one row. Functions with more than linear cost are replaced, with SQLite's results. instr and
 * replace search in linear time. printf and format refuse padding and digits beyond the longest
 * allowed value: SQLite would count them all before it fails. json_patch refuses to compare too
 * many names. All of these, LIKE and GLOB check for a stop first. SQLite itself, on a separate
 * connection, does the printing, patching and escaping.
 *
 * Invariants
 *   TF-1 A call takes less than a second while values have at most 256 KiB and patterns 1000 bytes.
 *   TF-2 No call begins once the stop is due: the statement ends with SQLITE_INTERRUPT.
 *
 * Threads: the thread of the connection.
 */
#ifndef MTRACE_QUERIES_TIMELY_FUNCTIONS_H
#define MTRACE_QUERIES_TIMELY_FUNCTIONS_H

struct database_stop;
struct error;
struct sqlite3;

/* Replaces the functions, with the current limits of the connection. stop must live as long as the
 * connection; NULL: no stop. */
int timely_functions_put(struct sqlite3 *db, const struct database_stop *stop, struct error *err);

#endif
