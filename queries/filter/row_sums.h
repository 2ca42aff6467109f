/* SPDX-License-Identifier: MIT */
/*
 * row_sums: sums under construction: by process and stack, by the stack that freed, and leaks by
 * time bucket.
 *
 * An array indexed by ids finds the sum of a row, because each row of a scan needs one. A sum
 * collects for the most recent pair of allocation and free stack, and flushes to the table of pairs
 * only when the pair changes, which is rare.
 *
 * Pairs are hashed: blocks and bytes by process, stack and a third number, the stack that freed
 * them or the time bucket of the process in which they were allocated. They are a struct hash_map
 * of struct pair_sum. A zeroed map is empty; hash_map_done frees it.
 *
 * Invariants
 *   RS-1 After row_sums_finish sums and pairs are in the order of their ids.
 *   RS-2 After pair_sums_sort the pairs are in the order of their key and read-only.
 *
 * Memory: grows with distinct stacks, plus 4 bytes per stack of the file for each process with
 * rows.
 */
#ifndef MTRACE_QUERIES_ROW_SUMS_H
#define MTRACE_QUERIES_ROW_SUMS_H

#include "lib/base/hash_map.h"
#include "queries/filter/row_feed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks and bytes of one key. */
struct pair_sum {
    uint32_t process; /* these three are the key */
    uint32_t backtrace;
    uint32_t other;
    int64_t blocks, bytes;
};

/* False: no memory. */
bool pair_sums_add(struct hash_map *sums, const struct pair_sum *what);
void pair_sums_sort(struct hash_map *sums);

static inline const struct pair_sum *pair_sums_at(const struct hash_map *sums, size_t index)
{
    return (const struct pair_sum *)sums->elements + index;
}

/* Sums of the rows allocated by one stack in one process. A sum begins with a cache line; most rows
 * change two. */
struct row_sum {
    uint32_t process;
    uint32_t backtrace;
    uint32_t free_backtrace; /* of the last freed block, usually also of the next */
    int64_t allocated_blocks, allocated_bytes;
    int64_t slack_bytes, lifetime_sum_ns;
    int64_t free_blocks, free_bytes; /* by free_backtrace, not yet in `frees` */
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

/* Counts a leaked block in a time bucket of its process; false: no memory. */
bool row_sums_add_leak(struct row_sums *sums, const struct row_sum *sum, uint32_t part,
                       const struct scanned_row *row);

/* Ends counting: nothing may be added after it. False: no memory. */
bool row_sums_finish(struct row_sums *sums);

#endif
