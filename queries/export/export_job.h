/* SPDX-License-Identifier: MIT */
/*
 * export_job: a recording on its way into another tool's format.
 *
 * Model: cmd_export chooses a format, loads the stack tree and calls the format's one function,
 *        which writes to `out` as it reads. A format is made either of totals by stack, which pass
 *        filters in front of the command (filtered_totals.h), or of the rows themselves
 *        (export_events.h, filter_sql.h).
 * Invariants: X-1 what passes the filters is all that a format shows, and all of it. X-2 memory
 *        grows with stacks, frames and blocks live at once, never with the number of rows.
 * Failure: ERROR_DATABASE, ERROR_NOMEM; write errors stay in `out` for the caller's ferror.
 */
#ifndef MTRACE_QUERIES_EXPORT_JOB_H
#define MTRACE_QUERIES_EXPORT_JOB_H

#include "queries/core/stack_weights.h"

#include <stdint.h>
#include <stdio.h>

struct error;
struct query;

struct export_job {
    struct query *query;
    FILE *out;
    struct stack_weights stacks; /* the tree, and the weights of one measure */
    int64_t process_id;          /* 0: all; never 0 for a format of one process */
    int64_t pid;                 /* of that process, or the first; so below */
    char *command_line;          /* words joined by blanks */
    char *executable;
    int64_t start_unix_ns; /* 0: unknown */
    int64_t start_ns, end_ns;
    int64_t peak_ns; /* start_ns when nothing was ever live */
};

/* Fills in what is said of the chosen process, else of the first. */
int export_job_read_process(struct export_job *job, struct error *err);

/* What a packed output says of a failed write. */
int export_job_write_error(const struct export_job *job, int os_errno, struct error *err);

/* The module's load address of an object in the job's process; 0: unknown. An array by object_id of
 * ret_n, to free. */
int export_job_load_addresses(const struct export_job *job, int64_t **ret_addresses, int64_t *ret_n,
                              struct error *err);

int export_collapsed_run(struct export_job *job, struct error *err);
int export_heaptrack_run(struct export_job *job, struct error *err);
int export_pprof_run(struct export_job *job, struct error *err);
int export_speedscope_run(struct export_job *job, struct error *err);
int export_dhat_run(struct export_job *job, struct error *err);
int export_massif_run(struct export_job *job, struct error *err);
int export_json_run(struct export_job *job, struct error *err);

#endif
