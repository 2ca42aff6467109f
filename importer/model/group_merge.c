/* SPDX-License-Identifier: MIT */
#include "importer/model/group_merge.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_ID = 2,    /* of allocation_groups; 0 is untracked, 1 the root */
    MAX_ID = 1 << 24 /* highest id of a program; larger ones in a log are damage */
};

void group_merge_init(struct group_merge *merge, struct log_input *const *inputs,
                      struct definitions *definitions)
{
    *merge = (struct group_merge){.inputs = inputs, .definitions = definitions};
}

void group_merge_done(struct group_merge *merge)
{
    id_table_done(&merge->tags);
    id_table_done(&merge->known);
}

/* ---- tags ---- */

static uint64_t hash_text(uint64_t hash, const char *text, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        hash = id_table_hash(hash, (unsigned char)text[i]);
    return hash;
}

uint64_t group_merge_hash_tag(const struct definitions_tag *tag)
{
    return hash_text(hash_text(0, tag->key, strlen(tag->key)), tag->value, strlen(tag->value));
}

bool group_merge_tag_equals(const void *context, uint32_t id, const void *key)
{
    const struct definitions_tag *tag = &((const struct definitions_tag *)context)[id];
    const struct definitions_tag *wanted = key;

    return strcmp(tag->key, wanted->key) == 0 && strcmp(tag->value, wanted->value) == 0;
}

/* 0: no memory. */
static uint32_t intern_tag(struct group_merge *merge, const struct definitions_tag *tag)
{
    struct definitions *definitions = merge->definitions;
    uint64_t hash = group_merge_hash_tag(tag);
    uint32_t id = id_table_find(&merge->tags, hash, group_merge_tag_equals, definitions->tags, tag);
    struct definitions_tag *tags;

    if (id)
        return id;
    tags = dynamic_array_reserve(definitions->tags, &merge->tags_capacity, definitions->n_tags + 2,
                                 sizeof(*tags));
    if (!tags)
        return 0;
    definitions->tags = tags;
    id = (uint32_t)definitions->n_tags + 1;
    if (id_table_add(&merge->tags, hash, id) != 0)
        return 0;
    tags[id] = *tag;
    definitions->n_tags++;
    return id;
}

/* The same pair twice is one tag. */
static bool has_tag(const struct definitions *definitions, const struct definitions_group *group,
                    uint32_t tag)
{
    for (uint32_t i = 0; i < group->n_tags; i++)
        if (definitions->group_tags[group->first_tag + i] == tag)
            return true;
    return false;
}

static int add_tag(struct group_merge *merge, struct definitions_group *group,
                   const struct definitions_tag *tag)
{
    struct definitions *definitions = merge->definitions;
    uint32_t id = intern_tag(merge, tag);
    uint32_t *group_tags =
        dynamic_array_reserve(definitions->group_tags, &merge->group_tags_capacity,
                              definitions->n_group_tags + 1, sizeof(*group_tags));

    if (group_tags)
        definitions->group_tags = group_tags;
    if (!group_tags || id == 0)
        return ERROR_NOMEM;
    if (has_tag(definitions, group, id))
        return 0;
    group_tags[definitions->n_group_tags++] = id;
    group->n_tags++;
    return 0;
}

/* The text after `at`; NULL after the last. */
static const char *next_text(const struct definitions_group *group, const char *at)
{
    const char *next = at + strlen(at) + 1;

    return next < group->text + group->text_bytes ? next : NULL;
}

static int add_tags(struct group_merge *merge, struct definitions_group *group)
{
    const char *key = next_text(group, group->text);
    int r = 0;

    while (r == 0 && key) {
        const char *value = next_text(group, key);
        struct definitions_tag tag = {key, value ? value : ""};

        r = add_tag(merge, group, &tag);
        key = value ? next_text(group, value) : NULL;
    }
    return r;
}

/* ---- groups ---- */

/* Until all groups are known, a group has the id of its logs. */
static bool is_of_note(const void *context, uint32_t number, const void *key)
{
    const struct definitions_group *group = &((const struct definitions_group *)context)[number];
    const struct group_note *note = key;

    return group->id == note->index && group->text_bytes == note->text_bytes
           && memcmp(group->text, note->text, note->text_bytes) == 0;
}

static uint64_t hash_note(const struct group_note *note)
{
    return hash_text(note->index, note->text, note->text_bytes);
}

static struct definitions_group *add_group(struct group_merge *merge)
{
    struct definitions *definitions = merge->definitions;
    struct definitions_group *groups = dynamic_array_reserve(
        definitions->groups, &merge->groups_capacity, definitions->n_groups + 2, sizeof(*groups));

    if (!groups)
        return NULL;
    definitions->groups = groups;
    return &groups[++definitions->n_groups];
}

static uint32_t find_number(const struct group_merge *merge, const struct group_note *note)
{
    if (note->index == LOG_GROUP_UNTRACKED)
        return merge->untracked;
    return id_table_find(&merge->known, hash_note(note), is_of_note, merge->definitions->groups,
                         note);
}

static int note_number(struct group_merge *merge, const struct group_note *note)
{
    if (note->index != LOG_GROUP_UNTRACKED)
        return id_table_add(&merge->known, hash_note(note), note->number);
    merge->untracked = note->number;
    return 0;
}

/* DF-5 */
static int take_note(struct group_merge *merge, struct group_note *note)
{
    struct definitions_group *group;

    note->number = find_number(merge, note);
    if (note->number != 0)
        return 0;
    group = add_group(merge);
    if (!group)
        return ERROR_NOMEM;
    note->number = (uint32_t)merge->definitions->n_groups;
    *group = (struct definitions_group){
        .name = note->text,
        .text = note->text,
        .text_bytes = note->text_bytes,
        .id = note->index,
        .first_tag = (uint32_t)merge->definitions->n_group_tags,
    };
    return note_number(merge, note) == 0 ? add_tags(merge, group) : ERROR_NOMEM;
}

static int compare_notes(const void *left, const void *right)
{
    uint32_t a = (*(struct group_note *const *)left)->index;
    uint32_t b = (*(struct group_note *const *)right)->index;

    return (a > b) - (a < b);
}

/* In the order of their ids; the log may define them in any order. */
int group_merge_log(struct group_merge *merge, size_t i)
{
    struct log_names *names = &merge->inputs[i]->names;
    struct group_note **notes = calloc(names->n_groups + 1, sizeof(struct group_note *));
    int r = notes ? 0 : ERROR_NOMEM;

    for (size_t k = 0; r == 0 && k < names->n_groups; k++)
        notes[k] = &names->groups[k + 1];
    if (r == 0)
        qsort(notes, names->n_groups, sizeof(struct group_note *), compare_notes);
    for (size_t k = 0; r == 0 && k < names->n_groups; k++)
        r = take_note(merge, notes[k]);
    free(notes);
    return r;
}

/* ---- ids ---- */

static bool is_id(const void *context, uint32_t number, const void *key)
{
    return ((const struct definitions_group *)context)[number].id == *(const uint32_t *)key;
}

bool group_merge_is_id(uint32_t index)
{
    return index >= FIRST_ID && index <= MAX_ID;
}

static uint32_t find_last_id(const struct definitions *definitions)
{
    uint32_t last_id = FIRST_ID - 1;

    for (size_t i = 1; i <= definitions->n_groups; i++)
        if (group_merge_is_id(definitions->groups[i].id) && definitions->groups[i].id > last_id)
            last_id = definitions->groups[i].id;
    return last_id;
}

/* GM-1, GM-2. holders: groups by id. *last_id: highest id of any group. */
static int give_id(struct group_merge *merge, uint32_t number, struct id_table *holders,
                   uint32_t *last_id)
{
    struct definitions_group *groups = merge->definitions->groups;
    uint32_t *id = &groups[number].id;
    uint64_t hash = id_table_hash(*id, 0);

    if (group_merge_is_id(*id) && !id_table_find(holders, hash, is_id, groups, id))
        return id_table_add(holders, hash, number);
    *id = ++*last_id;
    return 0;
}

static int give_ids(struct group_merge *merge, uint32_t *last_id)
{
    struct id_table holders = {0};
    int r = 0;

    for (uint32_t number = 1; r == 0 && number <= merge->definitions->n_groups; number++)
        if (number != merge->untracked)
            r = give_id(merge, number, &holders, last_id);
    id_table_done(&holders);
    return r;
}

int group_merge_finish(struct group_merge *merge, size_t n_inputs)
{
    static const char name[] = "[lost]";
    uint32_t last_id = find_last_id(merge->definitions);
    struct definitions_group *group;

    if (merge->definitions->n_groups == 0)
        return 0;
    if (give_ids(merge, &last_id) != 0)
        return ERROR_NOMEM;
    group = add_group(merge);
    if (!group)
        return ERROR_NOMEM;
    *group = (struct definitions_group){.name = name,
                                        .text = name,
                                        .text_bytes = sizeof(name) - 1,
                                        .id = last_id + 1,
                                        .is_lost = true};
    for (size_t i = 0; i < n_inputs; i++)
        merge->inputs[i]->names.lost_group = (uint32_t)merge->definitions->n_groups;
    return 0;
}
