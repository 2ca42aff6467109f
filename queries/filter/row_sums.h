/* SPDX-License-Identifier: MIT */
/*
 * row_sums: sums under construction: by process and stack, by the stack that freed, and leaks by
 * time bucket.
 *
 * An array indexed by ids finds the sum of a row, because each row of a scan needs one. A sum
 * collects for the most recent pair of allocation and free stack, as in the importer.
 *
 * Pairs (pair_totals.h) are blocks and bytes by process, stack and a third number: the stack that
 * freed them or the time bucket of the process in which they were allocated.
 *
 * Invariants
 *   RS-1 After row_sums_finish sums and pairs are in the order of their ids.
 *
 * Memory: grows with distinct stacks, plus 4 bytes per stack of the file for each process with
 * rows.
 */
#ifndef MTRACE_QUERIES_ROW_SUMS_H
#define MTRACE_QUERIES_ROW_SUMS_H

#include "lib/base/hash_map.h"
#include "lib/totals/pair_totals.h"
#include "queries/filter/row_feed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct rundb;

/* Counts the row under its process and two more ids; sign: 1 or -1. False: no memory. */
static inline bool row_sums_add_pair(struct hash_map *pairs, const struct scanned_row *row,
                                     uint32_t from, uint32_t to, int sign)
{
    return pair_totals_add(pairs, row->process, from, to, (uint64_t)(sign * row->blocks),
                           (uint64_t)row->bytes * (uint64_t)sign, NULL)
           == 0;
}

/* Inserts sorted pairs by a statement whose parameters are process, from, to, blocks and bytes. */
int row_sums_put_pairs(const struct rundb *database, const struct hash_map *pairs, const char *sql,
                       struct error *err);

/* Sums of the rows allocated by one stack in one process. A sum begins with a cache line; most rows
 * change two. */
struct row_sum {
    uint32_t process;
    uint32_t backtrace;
    int64_t allocated_blocks, allocated_bytes;
    int64_t slack_bytes, lifetime_sum_ns;
    struct pair_totals_run freed_at; /* of `frees` */
    /* second cache line */
    int64_t first_ns, last_ns;
    int64_t min_size_bytes, max_size_bytes;
    int64_t temporary_blocks, temporary_bytes;
    int64_t peak_blocks, peak_bytes;
    /* third cache line: few blocks are never freed */
    int64_t leaked_blocks, leaked_bytes;
    int64_t leaked_first_ns, leaked_last_ns;
    int64_t lost_blocks,
        lost_bytes; /* lost in an exec; blocks neither leaked nor lost were freed */
    size_t place;   /* order of creation, from 0 */
    int64_t unused;
};

struct row_sums {
    uint32_t *
        *places; /* by process, then by backtrace: index + 1 of its sum; allocated on demand */
    size_t n_processes, n_backtraces; /* highest id + 1 */
    struct row_sum *allocations;
    size_t n_allocations, allocations_capacity;
    struct hash_map frees; /* by the stack that freed */
    struct hash_map leaks; /* by time bucket of the process */
};

/* False: no memory. Call row_sums_done also after a failure. */
bool row_sums_init(struct row_sums *sums, size_t n_processes, size_t n_backtraces);
void row_sums_done(struct row_sums *sums);

/* Prefetches the place of a sum. Ids may be invalid. */
void row_sums_expect(const struct row_sums *sums, uint32_t process, size_t backtrace);

/* Finds or creates the sum of a stack; NULL: no memory. process < n_processes, backtrace <
 * n_backtraces. Valid until the next call. */
struct row_sum *row_sums_get(struct row_sums *sums, uint32_t process, uint32_t backtrace);

/* Counts a block as freed from a stack; false: no memory. */
bool row_sums_add_free(struct row_sums *sums, struct row_sum *sum, uint32_t free_backtrace,
                       const struct scanned_row *row);

/* Ends counting: nothing may be added after it. False: no memory. */
bool row_sums_finish(struct row_sums *sums);

#endif
