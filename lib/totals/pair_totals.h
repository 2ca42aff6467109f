/* SPDX-License-Identifier: MIT */
/*
 * pair_totals: blocks and bytes by a key of three ids, such as process, allocating and freeing
 * stack.
 *
 * The sums are a hash map of pair_totals_entry: 32 bytes each, at most 16 more for the index.
 * Blocks of one origin mostly end in the same place as the previous one: a pair_totals_run next to
 * the origin (`from`) counts these without a lookup.
 * Sums are modulo 2^64, so callers may add negative numbers and read the sums as signed.
 *
 * Invariants
 *   TA-1 A key has one entry.
 *   TA-2 The tally lacks what runs hold.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_LIB_PAIR_TOTALS_H
#define MTRACE_LIB_PAIR_TOTALS_H

#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/totals/sample_weight.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pair_totals_entry {
    uint32_t process;
    uint32_t from;
    uint32_t to;
    uint32_t reserved; /* 0 */
    uint64_t blocks;
    uint64_t bytes;
};

enum {
    PAIR_TOTALS_KEY_BYTES = offsetof(struct pair_totals_entry, blocks)
};

int pair_totals_add(struct hash_map *tally, uint32_t process, uint32_t from, uint32_t to,
                    uint64_t blocks, uint64_t bytes, struct error *err);

/* The same for a key that has no entry. pair_totals_find and pair_totals_add do not find the new
 * entry. */
int pair_totals_append(struct hash_map *tally, uint32_t process, uint32_t from, uint32_t to,
                       uint64_t blocks, uint64_t bytes, struct error *err);

/* NULL: no entry. Not after pair_totals_sort. */
const struct pair_totals_entry *pair_totals_find(const struct hash_map *tally, uint32_t process,
                                                 uint32_t from, uint32_t to);

/* Zero-initialized: empty. */
struct pair_totals_run {
    uint32_t process, to;
    uint64_t blocks, bytes;
};

/* Moves what the run holds to the tally. */
int pair_totals_flush(struct hash_map *tally, struct pair_totals_run *run, uint32_t from,
                      struct error *err);

static inline bool pair_totals_continues(const struct pair_totals_run *run, uint32_t process,
                                         uint32_t to)
{
    return run->to == to && run->process == process;
}

/* The run is empty or has this process and `to`. */
static inline void pair_totals_run_add(struct pair_totals_run *run, uint32_t process, uint32_t to,
                                       const struct sample_weight *weight)
{
    run->process = process;
    run->to = to;
    run->blocks += weight->blocks;
    run->bytes += weight->bytes;
}

/* Counts blocks of that weight, through the run. A run always has the same `from`. */
static inline int pair_totals_count(struct hash_map *tally, struct pair_totals_run *run,
                                    uint32_t process, uint32_t from, uint32_t to,
                                    const struct sample_weight *weight, struct error *err)
{
    int code =
        pair_totals_continues(run, process, to) ? 0 : pair_totals_flush(tally, run, from, err);

    pair_totals_run_add(run, process, to, weight);
    return code;
}

/* Sorts the entries by key; nothing can be added afterwards. */
void pair_totals_sort(struct hash_map *tally);

#endif
