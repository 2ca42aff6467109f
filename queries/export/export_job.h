/* SPDX-License-Identifier: MIT */
/*
 * export_job: converts a recording to the format of another tool.
 *
 * cmd_export chooses the format, loads the stack tree and calls export_<format>_run, which streams to
 * `out`. A format is made of totals by stack (filtered_totals.h) or of rows (export_events.h).
 * Memory grows with the number of stacks, frames and live blocks, not with the number of rows.
 * Errors: ERROR_DATABASE, ERROR_NOMEM; for write errors the caller checks ferror(out).
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
    int64_t process_id;          /* 0: all processes; never 0 for a format of one process */
    int64_t pid;        /* this and the following members: of that process or the first one */
    char *command_line; /* words joined by blanks */
    char *executable;
    int64_t start_unix_ns; /* 0: unknown */
    int64_t start_ns, end_ns;
    int64_t peak_ns; /* start_ns if no block was ever live */
};

/* Fills in the members about the process. */
int export_job_read_process(struct export_job *job, struct error *err);

/* Fills err for a failed write of a compressed format. */
int export_job_write_error(const struct export_job *job, int os_errno, struct error *err);

/* Load addresses in the job's process by object_id; 0: unknown. The caller frees the array. */
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
