/* SPDX-License-Identifier: MIT */
/*
 * numbering: numbers of stacks, threads, pools and groups that stay while a recording grows, and texts that do.
 *
 * Model:   ids of definitions are made anew whenever a recording is opened, because they say an order that what comes
 *          later changes: stacks in preorder, threads by process. A number is given once, to what an id stands for at
 *          that time. stable_ids_take gives numbers to what is new and puts them into the names of the logs, so that
 *          events have numbers; arrays lead from those to the ids of the definitions of now. Groups and tags have numbers beside their
 *          ids in the definitions themselves: there they are put in the order of the numbers given here.
 * Invariants
 *   NU-1 What had a number keeps it, and what has the same number has the same id.
 *   NU-2 Numbers of DEFINITIONS_NO_BACKTRACE and DEFINITIONS_LOST_BACKTRACE are those ids; 0 is 0.
 *   NU-3 Memory: 4 bytes per node of a log, 4 per stack, thread and pool, 32 per thread, group and text, which is kept, too,
 *        as tags are.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_STABLE_IDS_H
#define MTRACE_IMPORTER_STABLE_IDS_H

#include "importer/log/checkpoint_io.h"
#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "lib/base/hash_map.h"
#include "lib/base/id_table.h"

struct stable_ids_log;

/* All zero: none so far. */
struct stable_ids {
    struct stable_ids_log *logs; /* by process - 1 */
    size_t n_logs, logs_capacity;
    uint32_t n_threads, n_backtraces, n_pools;
    uint32_t *thread_ids, *backtrace_ids, *pool_ids; /* by number, of the definitions taken last */
    size_t threads_capacity, backtraces_capacity, pools_capacity;
    uint32_t n_groups, n_tags;
    uint32_t lost_group;          /* 0: there was none */
    struct definitions_tag *tags; /* by number */
    size_t tags_capacity;
    struct id_table tag_table;
    struct text_arena texts;
};

void stable_ids_done(struct stable_ids *stable_ids);

/*
 * Takes definitions that were built from these inputs, and changes the names of the inputs, and the order of
 * groups and tags. *ret_is_other: they are not
 * those taken before with more behind them; what has numbers is worth nothing then. ERROR_NOMEM or 0.
 */
int stable_ids_take(struct stable_ids *stable_ids, struct log_input *const *inputs, size_t n_inputs,
                    struct definitions *definitions, bool *ret_is_other);

struct stable_ids_room {
    uint32_t n_threads, n_backtraces, n_pools;
};

/* What the log has: there are no more numbers. room: for how many there are arrays of ids. */
struct stable_ids_most {
    size_t n_logs, n_threads, n_backtraces, n_pools, n_groups;
    struct stable_ids_room room;
};

/* Into the bytes or from them, into one that is all zero (checkpoint_io.h). The reader's arena is that of the texts. */
void stable_ids_visit(struct stable_ids *stable_ids, const struct stable_ids_most *most,
                      struct checkpoint_io *io);

#endif
