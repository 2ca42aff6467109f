/* SPDX-License-Identifier: MIT */
/*
 * headline: what a person must know of a process before any figure: which one, how long, how it
 * ended.
 *
 * Model: "server (pid 812), 4m12s, killed by SIGKILL: "leaked" means live at that instant".
 */
#ifndef MTRACE_QUERIES_HEADLINE_H
#define MTRACE_QUERIES_HEADLINE_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct query;

/* Runs what for each process that the options ask for, in order of process_id, until it fails. */
int headline_each_process(struct query *query,
                          int (*what)(struct query *, int64_t process_id, struct error *),
                          struct error *err);

/* "; from 50%, size_min 4KiB": the filters that the figures passed, "" without any. */
void headline_filters(const struct query *query, char *ret_text, size_t size);

/* The database, in front of what is said of it, if who asked knows it. */
void headline_print_file(const struct query *query);

/* The first line of a process's screen, with the filters; below it, what the log has lost, and whose
 * blocks were not seen. */
int headline_print(struct query *query, int64_t process_id, struct error *err);

int headline_format(const struct query *query, int64_t process_id, char *ret_text, size_t size,
                    struct error *err);

#endif
