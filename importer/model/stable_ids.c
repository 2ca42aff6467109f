/* SPDX-License-Identifier: MIT */
#include "importer/model/stable_ids.h"

#include "importer/model/group_merge.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    OF_THREAD = 0, /* a kind beside those of texts (enum log_def_kind) */
    KEY_BYTES = 2 * sizeof(uint32_t),
};

/* A thread, group or text of a log. */
struct named {
    uint32_t kind, index; /* the key */
    uint32_t number;      /* OF_THREAD, LOG_DEF_GROUP, LOG_DEF_POOL */
    uint32_t text_bytes;  /* LOG_DEF_GROUP, whose text has NULs in it */
    const char *text;     /* all but OF_THREAD */
};

struct stable_ids_log {
    uint64_t run_id;
    uint32_t unknown_thread;
    uint32_t **pages; /* node -> number */
    size_t n_pages, pages_capacity;
    struct hash_map named;
};

void stable_ids_done(struct stable_ids *stable_ids)
{
    for (size_t i = 0; i < stable_ids->n_logs; i++) {
        struct stable_ids_log *log = &stable_ids->logs[i];
        for (size_t page = 0; page < log->n_pages; page++)
            free(log->pages[page]);
        free(log->pages);
        hash_map_done(&log->named);
    }
    free(stable_ids->logs);
    free(stable_ids->thread_ids);
    free(stable_ids->backtrace_ids);
    free(stable_ids->pool_ids);
    free(stable_ids->tags);
    id_table_done(&stable_ids->tag_table);
    text_arena_done(&stable_ids->texts);
    memset(stable_ids, 0, sizeof *stable_ids);
}

static int add_logs(struct stable_ids *stable_ids, struct log_input *const *inputs, size_t n_inputs)
{
    struct stable_ids_log *logs =
        dynamic_array_reserve(stable_ids->logs, &stable_ids->logs_capacity, n_inputs, sizeof *logs);

    if (!logs)
        return ERROR_NOMEM;
    stable_ids->logs = logs;
    for (; stable_ids->n_logs < n_inputs; stable_ids->n_logs++)
        logs[stable_ids->n_logs].run_id = inputs[stable_ids->n_logs]->header.run_id;
    return 0;
}

static bool has_same_logs(const struct stable_ids *stable_ids, struct log_input *const *inputs,
                          size_t n_inputs)
{
    if (n_inputs < stable_ids->n_logs)
        return false;
    for (size_t i = 0; i < stable_ids->n_logs; i++)
        if (stable_ids->logs[i].run_id != inputs[i]->header.run_id)
            return false;
    return true;
}

/* ---- threads and texts ---- */

/* Assigns a number if it is 0, stores the id for it, and replaces *id by the number. */
static int number_thread(struct stable_ids *stable_ids, uint32_t *number, uint32_t *id)
{
    uint32_t *ids;

    if (*number == 0)
        *number = ++stable_ids->n_threads;
    ids = dynamic_array_reserve(stable_ids->thread_ids, &stable_ids->threads_capacity,
                                (size_t)stable_ids->n_threads + 1, sizeof *ids);
    if (!ids)
        return ERROR_NOMEM;
    stable_ids->thread_ids = ids;
    ids[*number] = *id;
    *id = *number;
    return 0;
}

static struct named *named_get(struct stable_ids_log *log, uint32_t kind, uint32_t index)
{
    struct named key = {.kind = kind, .index = index};

    return hash_map_get(&log->named, &key, KEY_BYTES, sizeof key);
}

static int take_threads(struct stable_ids *stable_ids, struct stable_ids_log *log,
                        struct log_names *names)
{
    int r = number_thread(stable_ids, &log->unknown_thread, &names->unknown_thread);

    for (size_t i = 1; r == 0 && i <= names->n_threads; i++) {
        struct named *named = named_get(log, OF_THREAD, names->threads[i].index);
        r = named ? number_thread(stable_ids, &named->number, &names->threads[i].id) : ERROR_NOMEM;
    }
    return r;
}

/* Like number_thread. */
static int number_pool(struct stable_ids *stable_ids, uint32_t *number, uint32_t *id)
{
    uint32_t *ids;

    if (*number == 0)
        *number = ++stable_ids->n_pools;
    ids = dynamic_array_reserve(stable_ids->pool_ids, &stable_ids->pools_capacity,
                                (size_t)stable_ids->n_pools + 1, sizeof *ids);
    if (!ids)
        return ERROR_NOMEM;
    stable_ids->pool_ids = ids;
    ids[*number] = *id;
    *id = *number;
    return 0;
}

/* Copies texts of events, which are used after the log was closed. */
static int take_texts(struct stable_ids *stable_ids, struct stable_ids_log *log,
                      struct log_names *names)
{
    for (size_t i = 1; i <= names->n_texts; i++) {
        struct text_note *note = &names->texts[i];
        if (note->kind == LOG_DEF_CHILD || note->kind == LOG_DEF_MESSAGE
            || note->kind == LOG_DEF_SETTING)
            continue;
        struct named *named = named_get(log, note->kind, note->index);
        if (named && (!named->text || strcmp(named->text, note->text) != 0))
            named->text = text_arena_copy(&stable_ids->texts, note->text, strlen(note->text));
        if (!named || !named->text)
            return ERROR_NOMEM;
        note->text = named->text;
        if (note->kind == LOG_DEF_POOL && note->number
            && number_pool(stable_ids, &named->number, &note->number) != 0)
            return ERROR_NOMEM;
    }
    return 0;
}

/* ---- stacks ---- */

static int reserve_pages(struct stable_ids_log *log, const struct log_names *names)
{
    uint32_t **pages;

    if (names->n_pages == 0)
        return 0;
    pages = dynamic_array_reserve(log->pages, &log->pages_capacity, names->n_pages, sizeof *pages);
    if (!pages)
        return ERROR_NOMEM;
    log->pages = pages;
    for (size_t page = 0; page < names->n_pages; page++) {
        if (names->backtrace_pages[page] && !pages[page])
            pages[page] = calloc(LOG_NAMES_PAGE, sizeof **pages);
        if (names->backtrace_pages[page] && !pages[page])
            return ERROR_NOMEM;
        if (page >= log->n_pages)
            log->n_pages = page + 1;
    }
    return 0;
}

/* Fills numbers, by id, with the known ones. False: two different stacks are now one, or one became
 * two. */
static bool find_known(struct stable_ids *stable_ids, const struct stable_ids_log *log,
                       const struct log_names *names, uint32_t *numbers)
{
    for (size_t page = 0; page < names->n_pages; page++) {
        for (size_t i = 0; names->backtrace_pages[page] && i < LOG_NAMES_PAGE; i++) {
            uint32_t id = names->backtrace_pages[page][i];
            uint32_t number = log->pages[page][i];
            if (number == 0)
                continue;
            if ((numbers[id] && numbers[id] != number)
                || (stable_ids->backtrace_ids[number] && stable_ids->backtrace_ids[number] != id))
                return false;
            numbers[id] = number;
            stable_ids->backtrace_ids[number] = id;
        }
    }
    return true;
}

static int number_stack(struct stable_ids *stable_ids, uint32_t id, uint32_t *numbers)
{
    uint32_t *ids;

    if (numbers[id])
        return 0;
    ids = dynamic_array_reserve(stable_ids->backtrace_ids, &stable_ids->backtraces_capacity,
                                (size_t)stable_ids->n_backtraces + 2, sizeof *ids);
    if (!ids)
        return ERROR_NOMEM;
    stable_ids->backtrace_ids = ids;
    numbers[id] = ++stable_ids->n_backtraces;
    ids[numbers[id]] = id;
    return 0;
}

static int put_numbers(struct stable_ids *stable_ids, struct stable_ids_log *log,
                       struct log_names *names, uint32_t *numbers)
{
    for (size_t page = 0; page < names->n_pages; page++) {
        uint32_t *ids = names->backtrace_pages[page];
        for (size_t i = 0; ids && i < LOG_NAMES_PAGE; i++) {
            if (ids[i] && number_stack(stable_ids, ids[i], numbers) != 0)
                return ERROR_NOMEM;
            log->pages[page][i] = ids[i] = numbers[ids[i]];
        }
    }
    return 0;
}

static int take_stacks(struct stable_ids *stable_ids, struct log_input *const *inputs,
                       uint32_t *numbers, bool *ret_is_other)
{
    size_t n_bytes = ((size_t)stable_ids->n_backtraces + 1) * sizeof *stable_ids->backtrace_ids;
    int r = 0;

    if (stable_ids->backtrace_ids)
        memset(stable_ids->backtrace_ids, 0, n_bytes);
    for (uint32_t id = DEFINITIONS_NO_BACKTRACE; id <= DEFINITIONS_LOST_BACKTRACE; id++) {
        if (stable_ids->n_backtraces < id)
            r = number_stack(stable_ids, id, numbers);
        if (r != 0)
            return r;
        numbers[id] = stable_ids->backtrace_ids[id] = id;
    }
    for (size_t i = 0; r == 0 && i < stable_ids->n_logs; i++) {
        r = reserve_pages(&stable_ids->logs[i], &inputs[i]->names);
        if (r == 0 && !find_known(stable_ids, &stable_ids->logs[i], &inputs[i]->names, numbers))
            *ret_is_other = true;
    }
    for (size_t i = 0; r == 0 && i < stable_ids->n_logs; i++)
        r = put_numbers(stable_ids, &stable_ids->logs[i], &inputs[i]->names, numbers);
    return r;
}

/* ---- groups ---- */

/* Fills numbers, by index in the definitions, with the known ones; 0: new. */
static int find_known_groups(struct stable_ids *stable_ids, struct stable_ids_log *log,
                             const struct log_names *names, uint32_t *numbers, bool *ret_is_other)
{
    for (size_t i = 1; i <= names->n_groups; i++) {
        const struct group_note *note = &names->groups[i];
        struct named *named = named_get(log, LOG_DEF_GROUP, note->index);
        if (!named)
            return ERROR_NOMEM;
        if (!named->text) {
            named->text = text_arena_copy(&stable_ids->texts, note->text, note->text_bytes);
            named->text_bytes = (uint32_t)note->text_bytes;
        }
        if (!named->text)
            return ERROR_NOMEM;
        if (named->text_bytes != note->text_bytes
            || memcmp(named->text, note->text, note->text_bytes) != 0
            || (named->number && numbers[note->number] && numbers[note->number] != named->number))
            *ret_is_other = true;
        if (named->number)
            numbers[note->number] = named->number;
    }
    return 0;
}

static int put_group_numbers(struct stable_ids_log *log, struct log_names *names,
                             const uint32_t *numbers)
{
    for (size_t i = 1; i <= names->n_groups; i++) {
        struct group_note *note = &names->groups[i];
        struct named *named = named_get(log, LOG_DEF_GROUP, note->index);
        if (!named)
            return ERROR_NOMEM;
        note->number = named->number = numbers[note->number];
    }
    names->lost_group = numbers[names->lost_group];
    return 0;
}

/* Moves each group to the index that is its number, so that no mapping is needed. */
static int place_groups(struct definitions *definitions, const uint32_t *numbers,
                        bool *ret_is_other)
{
    struct definitions_group *groups = calloc(definitions->n_groups + 2, sizeof *groups);

    if (!groups)
        return ERROR_NOMEM;
    for (size_t i = 1; i <= definitions->n_groups; i++) {
        *ret_is_other |= groups[numbers[i]].name != NULL; /* one group has become two */
        groups[numbers[i]] = definitions->groups[i];
    }
    free(definitions->groups);
    definitions->groups = groups;
    return 0;
}

static int number_groups(struct stable_ids *stable_ids, struct log_input *const *inputs,
                         struct definitions *definitions, uint32_t *numbers, bool *ret_is_other)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < stable_ids->n_logs; i++)
        r = find_known_groups(stable_ids, &stable_ids->logs[i], &inputs[i]->names, numbers,
                              ret_is_other);
    for (size_t i = 1; i <= definitions->n_groups; i++) {
        if (definitions->groups[i].is_lost)
            numbers[i] = stable_ids->lost_group;
        if (numbers[i] == 0)
            numbers[i] = ++stable_ids->n_groups;
        if (definitions->groups[i].is_lost)
            stable_ids->lost_group = numbers[i];
    }
    if (stable_ids->n_groups != definitions->n_groups)
        *ret_is_other = true; /* something is missing */
    if (r != 0 || *ret_is_other)
        return r;
    for (size_t i = 0; r == 0 && i < stable_ids->n_logs; i++)
        r = put_group_numbers(&stable_ids->logs[i], &inputs[i]->names, numbers);
    return r ? r : place_groups(definitions, numbers, ret_is_other);
}

/* Returns the number; 0: no memory. */
static uint32_t number_tag(struct stable_ids *stable_ids, const struct definitions_tag *tag)
{
    uint64_t hash = group_merge_hash_tag(tag);
    uint32_t number =
        id_table_find(&stable_ids->tag_table, hash, group_merge_tag_equals, stable_ids->tags, tag);
    struct definitions_tag *tags;

    if (number)
        return number;
    tags = dynamic_array_reserve(stable_ids->tags, &stable_ids->tags_capacity,
                                 (size_t)stable_ids->n_tags + 2, sizeof *tags);
    if (!tags)
        return 0;
    stable_ids->tags = tags;
    number = stable_ids->n_tags + 1;
    tags[number].key = text_arena_copy(&stable_ids->texts, tag->key, strlen(tag->key));
    tags[number].value = text_arena_copy(&stable_ids->texts, tag->value, strlen(tag->value));
    if (!tags[number].key || !tags[number].value
        || id_table_add(&stable_ids->tag_table, hash, number) != 0)
        return 0;
    return stable_ids->n_tags = number;
}

/* numbers: as for groups. */
static int number_tags(struct stable_ids *stable_ids, struct definitions *definitions,
                       uint32_t *numbers, bool *ret_is_other)
{
    for (size_t i = 1; i <= definitions->n_tags; i++) {
        numbers[i] = number_tag(stable_ids, &definitions->tags[i]);
        if (numbers[i] == 0)
            return ERROR_NOMEM;
    }
    if (stable_ids->n_tags != definitions->n_tags) {
        *ret_is_other = true;
        return 0;
    }
    for (size_t i = 1; i <= definitions->n_tags; i++)
        definitions->tags[i] = stable_ids->tags[i];
    for (size_t i = 0; i < definitions->n_group_tags; i++)
        definitions->group_tags[i] = numbers[definitions->group_tags[i]];
    return 0;
}

static int take_groups(struct stable_ids *stable_ids, struct log_input *const *inputs,
                       struct definitions *definitions, bool *ret_is_other)
{
    size_t n =
        definitions->n_groups > definitions->n_tags ? definitions->n_groups : definitions->n_tags;
    uint32_t *numbers = calloc(n + 1, sizeof *numbers);
    int r = numbers ? number_groups(stable_ids, inputs, definitions, numbers, ret_is_other)
                    : ERROR_NOMEM;

    if (r == 0 && !*ret_is_other)
        r = number_tags(stable_ids, definitions, numbers, ret_is_other);
    free(numbers);
    return r;
}

int stable_ids_take(struct stable_ids *stable_ids, struct log_input *const *inputs, size_t n_inputs,
                    struct definitions *definitions, bool *ret_is_other)
{
    uint32_t *numbers;
    int r;

    *ret_is_other = !has_same_logs(stable_ids, inputs, n_inputs);
    if (*ret_is_other)
        return 0;
    numbers = calloc(definitions->n_backtraces + 1, sizeof *numbers);
    r = numbers ? add_logs(stable_ids, inputs, n_inputs) : ERROR_NOMEM;
    if (r == 0)
        r = take_stacks(stable_ids, inputs, numbers, ret_is_other);
    free(numbers);
    for (size_t i = 0; r == 0 && i < n_inputs; i++) {
        r = take_threads(stable_ids, &stable_ids->logs[i], &inputs[i]->names);
        if (r == 0)
            r = take_texts(stable_ids, &stable_ids->logs[i], &inputs[i]->names);
    }
    if (r == 0 && !*ret_is_other)
        r = take_groups(stable_ids, inputs, definitions, ret_is_other);
    if (stable_ids->n_threads != definitions->n_threads
        || stable_ids->n_backtraces != definitions->n_backtraces
        || stable_ids->n_pools != definitions->n_pools)
        *ret_is_other = true; /* something is missing */
    return r;
}

/* ---- checkpoint ---- */

static void visit_named(struct stable_ids_log *log, struct checkpoint_io *io)
{
    checkpoint_io_keyed(io, &log->named, KEY_BYTES, sizeof(struct named));
    for (size_t i = 0; i < log->named.n; i++) {
        struct named *named = &((struct named *)log->named.elements)[i];
        size_t n_bytes = named->kind == LOG_DEF_GROUP                   ? named->text_bytes
                         : named->text && !checkpoint_io_is_loading(io) ? strlen(named->text)
                                                                        : 0;
        checkpoint_io_text(io, &named->text, &n_bytes);
    }
}

static void visit_page(struct stable_ids_log *log, size_t page, struct checkpoint_io *io)
{
    bool is_there = !checkpoint_io_is_loading(io) && log->pages[page];

    checkpoint_io_bool(io, &is_there);
    if (!is_there)
        return;
    if (!log->pages[page])
        log->pages[page] = calloc(LOG_NAMES_PAGE, sizeof *log->pages[page]);
    if (!log->pages[page]) {
        checkpoint_io_no_memory(io);
        return;
    }
    checkpoint_io_bytes(io, log->pages[page], LOG_NAMES_PAGE * sizeof *log->pages[page]);
}

static void visit_log(struct stable_ids_log *log, struct checkpoint_io *io)
{
    size_t n_pages = log->n_pages;

    checkpoint_io_u64(io, &log->run_id);
    checkpoint_io_u32(io, &log->unknown_thread);
    checkpoint_io_count(io, &n_pages, CHECKPOINT_MAX);
    for (size_t page = 0; page < n_pages && checkpoint_io_code(io) == 0; page++) {
        if (checkpoint_io_is_loading(io)) {
            uint32_t **pages =
                dynamic_array_reserve(log->pages, &log->pages_capacity, page + 1, sizeof *pages);
            if (!pages) {
                checkpoint_io_no_memory(io);
                return;
            }
            log->pages = pages;
            log->n_pages = page + 1;
        }
        visit_page(log, page, io);
    }
    visit_named(log, io);
}

static void visit_tags(struct stable_ids *stable_ids, struct checkpoint_io *io)
{
    size_t n = stable_ids->n_tags;

    checkpoint_io_count(io, &n, CHECKPOINT_MAX);
    for (uint32_t number = 1; number <= n && checkpoint_io_code(io) == 0; number++) {
        struct definitions_tag tag = {0};
        if (!checkpoint_io_is_loading(io))
            tag = stable_ids->tags[number];
        checkpoint_io_text(io, &tag.key, NULL);
        checkpoint_io_text(io, &tag.value, NULL);
        if (checkpoint_io_code(io) == 0 && checkpoint_io_is_loading(io))
            checkpoint_io_check(io, number_tag(stable_ids, &tag) == number, "a tag");
    }
}

/* Allocates ids for all numbers that events may contain; the id of an unused number is 0. */
static void make_ids(struct stable_ids *stable_ids, const struct stable_ids_room *room,
                     struct checkpoint_io *io)
{
    uint32_t **const ids[] = {&stable_ids->thread_ids, &stable_ids->backtrace_ids,
                              &stable_ids->pool_ids};
    size_t *const capacities[] = {&stable_ids->threads_capacity, &stable_ids->backtraces_capacity,
                                  &stable_ids->pools_capacity};
    const uint32_t numbers[] = {room->n_threads, room->n_backtraces, room->n_pools};

    for (int i = 0; i < 3 && checkpoint_io_code(io) == 0; i++) {
        size_t n = (size_t)numbers[i] + 2;
        uint32_t *made = dynamic_array_reserve(*ids[i], capacities[i], n, sizeof *made);
        if (made)
            *ids[i] = memset(made, 0, n * sizeof *made);
        else
            checkpoint_io_no_memory(io);
    }
}

void stable_ids_visit(struct stable_ids *stable_ids, const struct stable_ids_most *most,
                      struct checkpoint_io *io)
{
    size_t n_logs = stable_ids->n_logs;

    checkpoint_io_u32(io, &stable_ids->n_threads);
    checkpoint_io_u32(io, &stable_ids->n_backtraces);
    checkpoint_io_u32(io, &stable_ids->n_pools);
    checkpoint_io_u32(io, &stable_ids->n_groups);
    checkpoint_io_u32(io, &stable_ids->lost_group);
    checkpoint_io_check(
        io,
        stable_ids->n_threads <= most->n_threads && stable_ids->n_backtraces <= most->n_backtraces
            && stable_ids->n_pools <= most->n_pools && stable_ids->n_groups <= most->n_groups
            && stable_ids->n_threads <= most->room.n_threads
            && stable_ids->n_backtraces <= most->room.n_backtraces
            && stable_ids->n_pools <= most->room.n_pools
            && stable_ids->lost_group <= stable_ids->n_groups,
        "more than the log defines");
    checkpoint_io_count(io, &n_logs, most->n_logs);
    for (size_t i = 0; i < n_logs && checkpoint_io_code(io) == 0; i++) {
        if (checkpoint_io_is_loading(io)) {
            struct stable_ids_log *logs = dynamic_array_reserve(
                stable_ids->logs, &stable_ids->logs_capacity, i + 1, sizeof *logs);
            if (!logs) {
                checkpoint_io_no_memory(io);
                return;
            }
            stable_ids->logs = logs;
            stable_ids->n_logs = i + 1;
        }
        visit_log(&stable_ids->logs[i], io);
    }
    visit_tags(stable_ids, io);
    if (checkpoint_io_is_loading(io))
        make_ids(stable_ids, &most->room, io);
}
