/* SPDX-License-Identifier: MIT */
/*
 * timely_functions: functions of SQLite that may take long for one call, so that a statement of a person ends in time.
 *
 * Model:   SQLite looks whether a statement shall end where it loops: not within a function, nor between the many that one
 *          row may have. What takes longer than its arguments are long is replaced here, with SQLite's results: instr
 *          and replace search in linear time, printf and format refuse to repeat a character, or to print digits, beyond the longest
 *          value that there may be (SQLite counts them all before it says that the value is too long), json_patch
 *          refuses what compares too many names, and all of these, LIKE and GLOB look at the stop first. What is
 *          printed, patched or escaped is so by SQLite itself, by a connection of its own.
 * Invariants
 *   TF-1 a call of one of these takes less than a second while values have at most 256 KiB and patterns 1000 bytes.
 *   TF-2 none of them begins once the stop is due: the statement ends with SQLITE_INTERRUPT.
 * Threads: the connection's.
 */
#ifndef MTRACE_QUERIES_TIMELY_FUNCTIONS_H
#define MTRACE_QUERIES_TIMELY_FUNCTIONS_H

struct database_stop;
struct error;
struct sqlite3;

/* In place of SQLite's functions of these names, by the limits that the connection has now. stop: lives as long; NULL: nobody
 * stops. */
int timely_functions_put(struct sqlite3 *db, const struct database_stop *stop, struct error *err);

#endif
