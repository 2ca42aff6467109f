/* SPDX-License-Identifier: MIT */
/*
 * group_merge: the groups of all logs as one list, with each tag once.
 *
 * Model:   a text is a name, then key and value of each tag, with NULs between; a key without a value has an empty one. Ids are given when the
 *          groups of all logs are known.
 * Invariants
 *   GM-1 In the database a group has the id by which its processes know it (mtrace_current_group), whichever logs are read, unless a
 *        process that comes before has that for a group of another text: then it has a substitute.
 *   GM-2 A substitute is above all ids by which any process whose log is read knows a group. Of logs that still grow that
 *        holds for what they define so far: in a database that is made later a substitute may be another id, and a process
 *        that comes before may have taken the id of one that comes after.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_GROUP_MERGE_H
#define MTRACE_IMPORTER_GROUP_MERGE_H

#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "lib/base/id_table.h"

struct group_merge {
    struct log_input *const *inputs;
    struct definitions *definitions;
    struct id_table tags;
    struct id_table known; /* numbers of groups, by id in the log and text */
    size_t groups_capacity, tags_capacity, group_tags_capacity;
    uint32_t untracked; /* number of that group, 0: none yet */
};

void group_merge_init(struct group_merge *merge, struct log_input *const *inputs,
                      struct definitions *definitions);
void group_merge_done(struct group_merge *merge);

/* The groups of process i + 1, whose definition is filled but for these. */
int group_merge_log(struct group_merge *merge, size_t i);

/* After the last log: gives ids, and makes the lost group where there are any. */
int group_merge_finish(struct group_merge *merge, size_t n_inputs);

/* Can it be the id of a group in the database that its process calls so? */
bool group_merge_is_id(uint32_t index);

/* For tables of tags: context is their array by id, key a tag. */
uint64_t group_merge_hash_tag(const struct definitions_tag *tag);
bool group_merge_tag_equals(const void *context, uint32_t id, const void *key);

#endif
