/* SPDX-License-Identifier: MIT */
/*
 * headline: the line above a report: which process, how long it ran, how it ended. Example:
 *
 *   server (pid 812), 4m12s, killed by SIGKILL: "leaked" means live at that instant
 */
#ifndef MTRACE_QUERIES_HEADLINE_H
#define MTRACE_QUERIES_HEADLINE_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct query;

/* Calls `what` for each selected process, in the order of process_id, until it fails. Those that
 * exec replaced come last: a shell that starts the program is not what the user asks about. */
int headline_each_process(struct query *query,
                          int (*what)(struct query *, int64_t process_id, struct error *),
                          struct error *err);

/* "; from 50%, size_min 4KiB": the filters; "" without any. */
void headline_filters(const struct query *query, char *ret_text, size_t size);

/* Prints the name of the database, unless the request is untrusted. */
void headline_print_file(const struct query *query);

/* Prints the headline with the filters, and below it what was lost and what was not recorded. */
int headline_print(struct query *query, int64_t process_id, struct error *err);

/* Prints what was lost and what was not recorded of a process, 0: of all. */
int headline_notes(const struct query *query, int64_t process_id, struct error *err);

/* What blocks that were not freed are: "leaked"; "live" if the process (0: any) had not ended as
 * far as the recording knows; "live then" as of a time. */
const char *headline_leaked(const struct query *query, int64_t process_id);

int headline_format(const struct query *query, int64_t process_id, char *ret_text, size_t size,
                    struct error *err);

#endif
