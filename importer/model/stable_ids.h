/* SPDX-License-Identifier: MIT */
/*
 * stable_ids: numbers of stacks, threads, pools and groups that do not change while a recording
 * grows.
 *
 * The ids of definitions change whenever a recording is opened, because they express an order that
 * later items disturb: stacks in preorder, threads by process. A stable number is assigned once.
 * stable_ids_take assigns numbers to new items and stores them in the names of the logs, so that
 * events carry numbers. Arrays map a number to its current id. Groups and tags have no such array:
 * they are reordered in the definitions so that the index is the number.
 *
 * Invariants
 *   NU-1 A number is never changed, and items with the same number have the same id.
 *   NU-2 The numbers of DEFINITIONS_NO_BACKTRACE and DEFINITIONS_LOST_BACKTRACE equal their ids; 0
 *        is 0.
 *   NU-3 Memory: 4 bytes per node of a log, 4 per stack, thread and pool, 32 per thread, group and
 *        text. Texts and tags are copied.
 *
 * Errors: ERROR_NOMEM.
 */
#ifndef MTRACE_IMPORTER_STABLE_IDS_H
#define MTRACE_IMPORTER_STABLE_IDS_H

#include "importer/log/checkpoint_io.h"
#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "lib/base/hash_map.h"

struct stable_ids_log;

/* All zero: empty. */
struct stable_ids {
    struct stable_ids_log *logs; /* by process - 1 */
    size_t n_logs, logs_capacity;
    uint32_t n_threads, n_backtraces, n_pools;
    uint32_t *thread_ids, *backtrace_ids, *pool_ids; /* by number, of the latest definitions */
    size_t threads_capacity, backtraces_capacity, pools_capacity;
    uint32_t n_groups, n_tags;
    uint32_t lost_group;          /* 0: not seen */
    struct definitions_tag *tags; /* by number */
    size_t tags_capacity;
    struct id_table tag_table;
    struct text_arena texts;
};

void stable_ids_done(struct stable_ids *stable_ids);

/*
 * Takes definitions that were built from these inputs. Changes the names of the inputs and the
 * order of groups and tags. *ret_is_other: the definitions do not continue those taken before; all
 * numbers are then invalid. ERROR_NOMEM or 0.
 */
int stable_ids_take(struct stable_ids *stable_ids, struct log_input *const *inputs, size_t n_inputs,
                    struct definitions *definitions, bool *ret_is_other);

struct stable_ids_room {
    uint32_t n_threads, n_backtraces, n_pools;
};

/* Limits of what the log can refer to. room: sizes of the id arrays. */
struct stable_ids_most {
    size_t n_logs, n_threads, n_backtraces, n_pools, n_groups;
    struct stable_ids_room room;
};

/* Saves, or loads into a zeroed struct (checkpoint_io.h). Loaded texts are in the arena of io. */
void stable_ids_visit(struct stable_ids *stable_ids, const struct stable_ids_most *most,
                      struct checkpoint_io *io);

#endif
