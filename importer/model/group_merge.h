/* SPDX-License-Identifier: MIT */
/*
 * group_merge: the groups of all logs as one list, with each tag once.
 *
 * Model:   logs are taken in the order of their processes, so that a child comes behind its parent
 *          and finds what it inherited (DF-5). A text is a name, then key and value of each tag, with
 *          NULs between; a key without a value has an empty one.
 * Invariants
 *   GM-1 In the database a group has the id by which its process knows it (mtrace_current_group), whichever logs are read, unless
 *        another process has that for a group of another text: then the later one has one that is higher than all before.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_GROUP_MERGE_H
#define MTRACE_IMPORTER_GROUP_MERGE_H

#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "support/id_table.h"

struct group_merge {
    struct log_input *const *inputs;
    struct definitions *definitions;
    struct id_table tags, ids; /* ids: of groups so far */
    size_t groups_capacity, tags_capacity, group_tags_capacity;
    uint32_t last_id;
    uint32_t untracked; /* number of that group, 0: none yet */
};

void group_merge_init(struct group_merge *merge, struct log_input *const *inputs,
                      struct definitions *definitions);
void group_merge_done(struct group_merge *merge);

/* The groups of process i + 1, whose definition is filled but for these. */
int group_merge_log(struct group_merge *merge, size_t i);

/* After the last log: makes the lost group where there are any. */
int group_merge_finish(struct group_merge *merge, size_t n_inputs);

/* Can it be the id of a group in the database that its process calls so? */
bool group_merge_is_id(uint32_t index);

/* For tables of tags: context is their array by id, key a tag. */
uint64_t group_merge_hash_tag(const struct definitions_tag *tag);
bool group_merge_tag_equals(const void *context, uint32_t id, const void *key);

#endif
