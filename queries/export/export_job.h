/* SPDX-License-Identifier: MIT */
/*
 * export_job: converts a recording to the format of another tool.
 *
 * cmd_export chooses the format, loads the stack tree and calls export_<format>_run, which streams
 * to `out`. A format is made of totals by stack (filtered_totals.h) or of rows (export_events.h).
 * Memory grows with the number of stacks, frames and live blocks, not with the number of rows.
 * Errors: ERROR_DATABASE, ERROR_NOMEM; for write errors the caller checks ferror(out).
 */
#ifndef MTRACE_QUERIES_EXPORT_JOB_H
#define MTRACE_QUERIES_EXPORT_JOB_H

#include "lib/base/hash_map.h"
#include "queries/core/stack_weights.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct query;
struct sqlite3_stmt;

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

/* ---- pairs of ids ---- */

/* Pairs are numbered 0, 1, 2, … in the order of their first use. */
struct id_pair {
    int64_t first;
    int64_t second;
};

/* The number of the pair; -1: no memory. */
static inline int64_t id_pairs_get(struct hash_map *pairs, int64_t first, int64_t second,
                                   bool *ret_is_new)
{
    const struct id_pair key = {first, second};
    const size_t n = pairs->n;
    const struct id_pair *pair = hash_map_get(pairs, &key, sizeof(key), sizeof(key));

    *ret_is_new = pairs->n > n;
    return pair ? pair - (const struct id_pair *)pairs->elements : -1;
}

/* ---- filtered totals by stack ---- */

/* In this order: pairs of blocks and bytes. */
enum export_total {
    EXPORT_ALLOCATED_BLOCKS,
    EXPORT_ALLOCATED_BYTES,
    EXPORT_LIVE_BLOCKS, /* at the end, or at the time of --at */
    EXPORT_LIVE_BYTES,
    EXPORT_PEAK_BLOCKS,
    EXPORT_PEAK_BYTES,
    EXPORT_TEMPORARY_BLOCKS,
    EXPORT_TEMPORARY_BYTES,
    EXPORT_TOTALS
};

struct export_totals {
    const struct export_job *job;
    struct sqlite3_stmt *stmt;
    bool has_instant; /* --at is given: all selected blocks are live then */
};

struct export_stack_totals {
    int64_t backtrace_id;
    int64_t totals[EXPORT_TOTALS];
};

/* Call export_totals_close also after a failure. */
int export_totals_open(struct export_totals *totals, const struct export_job *job,
                       struct error *err);
void export_totals_close(struct export_totals *totals);

/* 1 and the next stack by ascending id, 0 at the end, or an error. */
int export_totals_next(struct export_totals *totals, struct export_stack_totals *ret_stack,
                       struct error *err);

#endif
