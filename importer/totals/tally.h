/* SPDX-License-Identifier: MIT */
/*
 * tally: blocks and bytes counted by a key of three ids: who frees what, which thread frees whose.
 *
 * Model:   a keyed array of tally_entry, 32 bytes each and 16 at most to find it. What is born in
 *          one place mostly ends where the one before it ended: a tally_run beside whoever stands
 *          for `from` counts that without looking for the entry.
 * Invariants: TA-1 a key has one entry; TA-2 what runs hold is not in the tally.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_TALLY_H
#define MTRACE_IMPORTER_TALLY_H

#include "importer/log/state_io.h"
#include "lib/base/error.h"
#include "lib/base/keyed.h"
#include "lib/totals/sample_weight.h"

#include <stdbool.h>
#include <stdint.h>

struct tally_entry {
    uint32_t process;
    uint32_t from;
    uint32_t to;
    uint32_t reserved; /* 0 */
    uint64_t blocks;
    uint64_t bytes;
};

int tally_add(struct keyed *tally, uint32_t process, uint32_t from, uint32_t to, uint64_t blocks,
              uint64_t bytes, struct error *err);

/* The same where no entry has that key. tally_find does not find it, nor does tally_add. */
int tally_append(struct keyed *tally, uint32_t process, uint32_t from, uint32_t to, uint64_t blocks,
                 uint64_t bytes, struct error *err);

/* NULL: not counted. Not after tally_sort. */
const struct tally_entry *tally_find(const struct keyed *tally, uint32_t process, uint32_t from,
                                     uint32_t to);

/* All zero: empty. */
struct tally_run {
    uint32_t process, to;
    uint64_t blocks, bytes;
};

/* Into the tally with what the run holds. */
int tally_flush(struct keyed *tally, struct tally_run *run, uint32_t from, struct error *err);

static inline bool tally_continues(const struct tally_run *run, uint32_t process, uint32_t to)
{
    return run->to == to && run->process == process;
}

/* To a run that is empty, or of those. */
static inline void tally_run_add(struct tally_run *run, uint32_t process, uint32_t to,
                                 const struct sample_weight *weight)
{
    run->process = process;
    run->to = to;
    run->blocks += weight->blocks;
    run->bytes += weight->bytes;
}

/* Blocks of that weight end there, or are of that kind. `from` is always the same for a run. */
static inline int tally_count(struct keyed *tally, struct tally_run *run, uint32_t process,
                              uint32_t from, uint32_t to, const struct sample_weight *weight,
                              struct error *err)
{
    int code = tally_continues(run, process, to) ? 0 : tally_flush(tally, run, from, err);

    tally_run_add(run, process, to, weight);
    return code;
}

/* Puts the entries in order of their key; nothing can be added afterwards. */
void tally_sort(struct keyed *tally);

/* Into the bytes or from them, into one that is empty (state_io.h). from and to are at most `most`. */
void tally_visit(struct keyed *tally, uint32_t n_processes, uint32_t most, struct state_io *io);

#endif
