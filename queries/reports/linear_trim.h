/* SPDX-License-Identifier: MIT */
/*
 * linear_trim: trim(X, Y), ltrim and rtrim in time linear in X plus Y. SQLite's own compare each
 * character of X with each of Y. That takes minutes for texts of 256 KiB and cannot be interrupted.
 */
#ifndef MTRACE_QUERIES_LINEAR_TRIM_H
#define MTRACE_QUERIES_LINEAR_TRIM_H

struct error;
struct sqlite3;

/* Replaces SQLite's functions, with the same results. */
int linear_trim_put(struct sqlite3 *db, struct error *err);

#endif
