/* SPDX-License-Identifier: MIT */
/*
 * hidden_paths: a database without folders and command lines (--confidential), for a report that
 * others read.
 *
 * TEMP tables of the same names hide those of the file, which statements may not read after
 * rundb_lock: "/srv/app/lib/libx.so" becomes "…/libx.so". Names of functions, threads and files
 * stay.
 *
 * Threads: that of the database. Errors: those of rundb.
 */
#ifndef MTRACE_QUERIES_HIDDEN_PATHS_H
#define MTRACE_QUERIES_HIDDEN_PATHS_H

struct error;
struct rundb;

/* Before rundb_lock. */
int hidden_paths_install(struct rundb *database, struct error *err);

#endif
