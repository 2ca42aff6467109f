/* SPDX-License-Identifier: MIT */
/*
 * group_totals: sums of each allocation group and each tag, and the groups in which blocks are
 * freed.
 *
 * There is an account per process and group, and one per process and tag for all its groups. Peaks
 * are compared when time advances, as in totals.h. A recording without groups has no struct
 * group_totals: everything belongs to the root.
 *
 * Invariants
 *   GT-1 allocated + moved in = live + freed + moved out, in blocks and bytes, of each account.
 *        Sums over the groups of a process are those of the process.
 *   GT-2 A tag's sums, except peaks, are those of its groups.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_GROUP_TOTALS_H
#define MTRACE_IMPORTER_GROUP_TOTALS_H

#include "importer/log/checkpoint_io.h"
#include "importer/model/definitions.h"
#include "importer/pairing/pairing.h"
#include "importer/totals/totals.h"
#include "lib/base/error.h"
#include "lib/totals/pair_totals.h"

struct group_account {
    uint32_t process;
    uint32_t of; /* number of the group or tag */
    uint64_t live_blocks, live_bytes;
    uint64_t peak_bytes, peak_ns;
    uint64_t changed_ns;
    uint64_t allocated_blocks, allocated_bytes;
    uint64_t freed_blocks, freed_bytes;
    uint64_t freed_elsewhere_blocks,
        freed_elsewhere_bytes; /* of the freed ones, in another group */
    uint64_t moved_in_blocks, moved_in_bytes, moved_out_blocks, moved_out_bytes;
    uint64_t leaked_blocks, leaked_bytes;
    double allocated_variance, live_variance, peak_variance,
        leaked_variance; /* of bytes, for samples, else 0 */
};

struct group_totals {
    const struct definitions *definitions;
    struct hash_map groups; /* group_account */
    struct hash_map tags;
    struct hash_map flows; /* pair_totals_entry; from: the block's group, to: group of the free */
};

/* *ret is NULL if no program has groups. */
int group_totals_new(const struct definitions *definitions, struct group_totals **ret,
                     struct error *err);
void group_totals_free(struct group_totals *totals);

int group_totals_allocated(struct group_totals *totals, uint32_t process,
                           const struct live_block *block, uint32_t group, struct error *err);
int group_totals_ended(struct group_totals *totals, uint32_t process,
                       const struct live_block *block, const struct pairing_end *end,
                       struct error *err);
/* A block that was counted as freed for unknown reasons was freed by this event. */
int group_totals_explained(struct group_totals *totals, uint32_t process,
                           const struct live_block *block, const struct pairing_end *end,
                           struct error *err);
int group_totals_moved(struct group_totals *totals, uint32_t process,
                       const struct live_block *block, const struct pairing_move *move,
                       struct error *err);
int group_totals_leaked(struct group_totals *totals, uint32_t process,
                        const struct live_block *block, uint32_t group, struct error *err);

/* Counts elided blocks that were allocated and freed in the group. */
int group_totals_elided(struct group_totals *totals, uint32_t process, uint32_t group,
                        uint64_t n_blocks, uint64_t bytes, struct error *err);

/* Updates the peaks a last time. */
void group_totals_finish(struct group_totals *totals);

/* Saves the totals, or loads them into new ones (checkpoint_io.h). */
void group_totals_visit(struct group_totals *totals, uint32_t n_processes,
                        struct checkpoint_io *io);

/* Initializes new totals when the first group appears late: what the process did so far is charged
 * to the root. */
int group_totals_take_root(struct group_totals *totals, const struct totals *all, uint32_t process,
                           struct error *err);

#endif
