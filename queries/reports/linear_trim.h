/* SPDX-License-Identifier: MIT */
/*
 * linear_trim: trim(X, Y), ltrim and rtrim in a time that grows with X plus Y. SQLite's own compares each
 * character of X with each of Y, minutes for texts of 256 KiB, and nothing can interrupt it.
 */
#ifndef MTRACE_QUERIES_LINEAR_TRIM_H
#define MTRACE_QUERIES_LINEAR_TRIM_H

struct error;
struct sqlite3;

/* In place of SQLite's functions of that name, with its results. */
int linear_trim_put(struct sqlite3 *db, struct error *err);

#endif
