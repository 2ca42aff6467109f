/* SPDX-License-Identifier: MIT */
/*
 * tally: blocks and bytes counted by a key of three ids: who frees what, which thread frees whose.
 *
 * Model:   a keyed array of pair_totals_entry, 32 bytes each and 16 at most to find it. What is born in
 *          one place mostly ends where the one before it ended: a pair_totals_run beside whoever stands
 *          for `from` counts that without looking for the entry.
 * Invariants: TA-1 a key has one entry; TA-2 what runs hold is not in the tally.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_PAIR_TOTALS_H
#define MTRACE_IMPORTER_PAIR_TOTALS_H

#include "importer/log/checkpoint_io.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/totals/sample_weight.h"

#include <stdbool.h>
#include <stdint.h>

struct pair_totals_entry {
    uint32_t process;
    uint32_t from;
    uint32_t to;
    uint32_t reserved; /* 0 */
    uint64_t blocks;
    uint64_t bytes;
};

int pair_totals_add(struct hash_map *tally, uint32_t process, uint32_t from, uint32_t to,
                    uint64_t blocks, uint64_t bytes, struct error *err);

/* The same where no entry has that key. pair_totals_find does not find it, nor does pair_totals_add. */
int pair_totals_append(struct hash_map *tally, uint32_t process, uint32_t from, uint32_t to,
                       uint64_t blocks, uint64_t bytes, struct error *err);

/* NULL: not counted. Not after pair_totals_sort. */
const struct pair_totals_entry *pair_totals_find(const struct hash_map *tally, uint32_t process,
                                                 uint32_t from, uint32_t to);

/* All zero: empty. */
struct pair_totals_run {
    uint32_t process, to;
    uint64_t blocks, bytes;
};

/* Into the tally with what the run holds. */
int pair_totals_flush(struct hash_map *tally, struct pair_totals_run *run, uint32_t from,
                      struct error *err);

static inline bool pair_totals_continues(const struct pair_totals_run *run, uint32_t process,
                                         uint32_t to)
{
    return run->to == to && run->process == process;
}

/* To a run that is empty, or of those. */
static inline void pair_totals_run_add(struct pair_totals_run *run, uint32_t process, uint32_t to,
                                       const struct sample_weight *weight)
{
    run->process = process;
    run->to = to;
    run->blocks += weight->blocks;
    run->bytes += weight->bytes;
}

/* Blocks of that weight end there, or are of that kind. `from` is always the same for a run. */
static inline int pair_totals_count(struct hash_map *tally, struct pair_totals_run *run,
                                    uint32_t process, uint32_t from, uint32_t to,
                                    const struct sample_weight *weight, struct error *err)
{
    int code =
        pair_totals_continues(run, process, to) ? 0 : pair_totals_flush(tally, run, from, err);

    pair_totals_run_add(run, process, to, weight);
    return code;
}

/* Puts the entries in order of their key; nothing can be added afterwards. */
void pair_totals_sort(struct hash_map *tally);

/* Into the bytes or from them, into one that is empty (checkpoint_io.h). from and to are at most `most`. */
void pair_totals_visit(struct hash_map *tally, uint32_t n_processes, uint32_t most,
                       struct checkpoint_io *io);

#endif
