/* SPDX-License-Identifier: MIT */
/*
 * group_merge: merges the groups of all logs into one list, with each tag once.
 *
 * The text of a group is its name, then key and value of each tag, separated by NULs. A key without
 * a value has an empty one. Ids are assigned when the groups of all logs are known.
 *
 * Invariants
 *   GM-1 A group's id in the database is the one its processes know (mtrace_current_group),
 *        whichever logs are read. If an earlier process uses that id for another text, it gets a
 *        substitute.
 *   GM-2 A substitute is above all ids by which any process whose log is read knows a group. For
 *        logs that still grow only groups defined so far count: a later database may assign other
 *        ids.
 *
 * Errors: ERROR_NOMEM.
 */
#ifndef MTRACE_IMPORTER_GROUP_MERGE_H
#define MTRACE_IMPORTER_GROUP_MERGE_H

#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "lib/base/hash_map.h"

struct group_merge {
    struct log_input *const *inputs;
    struct definitions *definitions;
    struct id_table tags;
    struct id_table known; /* group numbers by id in the log and text */
    size_t groups_capacity, tags_capacity, group_tags_capacity;
    uint32_t untracked; /* number of the untracked group, 0: not seen yet */
};

void group_merge_init(struct group_merge *merge, struct log_input *const *inputs,
                      struct definitions *definitions);
void group_merge_done(struct group_merge *merge);

/* Adds the groups of process i + 1, whose other definitions are complete. */
int group_merge_log(struct group_merge *merge, size_t i);

/* After the last log: assigns ids, and adds the lost group if the logs have any groups. */
int group_merge_finish(struct group_merge *merge, size_t n_inputs);

/* True if a process can know a group by this id, and the database can use it. */
bool group_merge_is_id(uint32_t index);

/* Callbacks for id_table: context is the tag array by id, key a tag. */
uint64_t group_merge_hash_tag(const struct definitions_tag *tag);
bool group_merge_tag_equals(const void *context, uint32_t id, const void *key);

#endif
