/* SPDX-License-Identifier: MIT */
/*
 * row_sums: sums by process and stack, by the stack that freed, and of leaks by when they were
 * born, in the making.
 *
 * Model: a sum is found by its ids in an array of places, because a scan looks for one with every
 *        row; pairs of birth and free are hashed, but a sum counts for the pair that came last,
 *        which is mostly the next, too, until there is another.
 * Invariants: RS-1 after row_sums_finish sums are in order of their ids, and so are pairs.
 * Memory: with distinct stacks, and 4 bytes per stack of the file and process that has rows.
 */
#ifndef MTRACE_QUERIES_ROW_SUMS_H
#define MTRACE_QUERIES_ROW_SUMS_H

#include "queries/filter/pair_sums.h"
#include "queries/filter/row_feed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the rows born with one stack in one process. Sums begin with a line of the cache; most rows
 * change two. */
struct row_sum {
    uint32_t process;
    uint32_t backtrace;
    uint32_t free_backtrace; /* of the block that was freed last: mostly of the next, too */
    int64_t allocated_blocks, allocated_bytes;
    int64_t slack_bytes, lifetime_sum_ns;
    int64_t free_blocks, free_bytes; /* from free_backtrace, not yet in frees */
    /* the second line of the cache */
    int64_t first_ns, last_ns;
    int64_t min_size_bytes, max_size_bytes;
    int64_t temporary_blocks, temporary_bytes;
    int64_t peak_blocks, peak_bytes;
    /* the third: few blocks are never freed */
    int64_t leaked_blocks, leaked_bytes;
    int64_t leaked_first_ns, leaked_last_ns;
    int64_t lost_blocks, lost_bytes; /* to exec; what is neither leaked nor lost was freed */
    size_t place;                    /* in the order in which sums were made, from 0 */
    int64_t unused;
};

struct row_sums {
    uint32_t **places; /* by process, then by backtrace: index + 1 of its sum; made when needed */
    size_t n_processes, n_backtraces; /* highest id + 1 */
    struct row_sum *allocations;
    size_t n_allocations, allocations_capacity;
    struct hash_map frees; /* by the stack that freed */
    struct hash_map leaks; /* by the part of the process's life */
};

/* False: no memory. Call row_sums_done in any case. */
bool row_sums_init(struct row_sums *sums, size_t n_processes, size_t n_backtraces);
void row_sums_done(struct row_sums *sums);

/* Hint: the sum will be needed. Ids may be any. */
void row_sums_expect(const struct row_sums *sums, uint32_t process, size_t backtrace);

/* The sum of a stack, made when it is new; NULL: no memory. process < n_processes, backtrace <
 * n_backtraces; valid until the next call. */
struct row_sum *row_sums_get(struct row_sums *sums, uint32_t process, uint32_t backtrace);

/* Counts a block as freed from a stack; false: no memory. */
bool row_sums_add_free(struct row_sums *sums, struct row_sum *sum, uint32_t free_backtrace,
                       const struct scanned_row *row);

/* Counts a leaked block as born in a part of its process's life; false: no memory. */
bool row_sums_add_leak(struct row_sums *sums, const struct row_sum *sum, uint32_t part,
                       const struct scanned_row *row);

/* The end of counting: nothing may be added any more. False: no memory. */
bool row_sums_finish(struct row_sums *sums);

#endif
