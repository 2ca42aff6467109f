/* SPDX-License-Identifier: MIT */
#include "importer/log/log_names.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"

#include <stdlib.h>
#include <string.h>

void log_names_init(struct log_names *names, struct text_arena *arena)
{
    memset(names, 0, sizeof(*names));
    names->arena = arena;
}

void log_names_done(struct log_names *names)
{
    log_names_forget_nodes(names);
    for (size_t i = 0; i < names->n_pages; i++)
        free(names->backtrace_pages[i]);
    free(names->backtrace_pages);
    free(names->threads);
    free(names->modules);
    free(names->texts);
    free(names->groups);
    free(names->file_parts);
    id_table_done(&names->thread_table);
    id_table_done(&names->module_table);
    id_table_done(&names->text_table);
    id_table_done(&names->group_table);
    id_table_done(&names->file_part_table);
}

void log_names_forget_nodes(struct log_names *names)
{
    for (size_t i = 0; names->node_pages && i < names->n_pages; i++)
        free(names->node_pages[i]);
    free(names->node_pages);
    names->node_pages = NULL;
    names->node_pages_capacity = 0;
}

static bool thread_equals(const void *context, uint32_t id, const void *key)
{
    const struct log_names *names = context;
    return names->threads[id].index == *(const uint32_t *)key;
}

static bool module_equals(const void *context, uint32_t id, const void *key)
{
    const struct log_names *names = context;
    return names->modules[id].index == *(const uint32_t *)key;
}

static bool group_equals(const void *context, uint32_t id, const void *key)
{
    const struct log_names *names = context;
    return names->groups[id].index == *(const uint32_t *)key;
}

struct text_key {
    uint32_t kind, index;
};

static bool text_equals(const void *context, uint32_t id, const void *key)
{
    const struct text_note *note = &((const struct log_names *)context)->texts[id];
    const struct text_key *wanted = key;
    return note->kind == wanted->kind && note->index == wanted->index;
}

const struct thread_note *log_names_find_thread(const struct log_names *names, uint32_t index)
{
    uint32_t id =
        id_table_find(&names->thread_table, id_table_hash(index, 0), thread_equals, names, &index);
    return id ? &names->threads[id] : NULL;
}

const struct module_note *log_names_find_module(const struct log_names *names, uint32_t index)
{
    uint32_t id =
        id_table_find(&names->module_table, id_table_hash(index, 0), module_equals, names, &index);
    return id ? &names->modules[id] : NULL;
}

static const struct text_note *find_note(const struct log_names *names, enum log_def_kind kind,
                                         uint32_t index)
{
    struct text_key key = {.kind = kind, .index = index};
    uint32_t id =
        id_table_find(&names->text_table, id_table_hash(index, kind), text_equals, names, &key);
    return id ? &names->texts[id] : NULL;
}

const char *log_names_find_text(const struct log_names *names, enum log_def_kind kind,
                                uint32_t index)
{
    const struct text_note *note = find_note(names, kind, index);
    return note ? note->text : NULL;
}

uint32_t log_names_pool(const struct log_names *names, uint32_t index)
{
    const struct text_note *note = find_note(names, LOG_DEF_POOL, index);
    return note ? note->number : 0;
}

uint32_t log_names_thread(const struct log_names *names, uint32_t index)
{
    const struct thread_note *note = log_names_find_thread(names, index);
    return note ? note->id : names->unknown_thread;
}

const struct group_note *log_names_find_group(const struct log_names *names, uint32_t index)
{
    uint32_t id =
        id_table_find(&names->group_table, id_table_hash(index, 0), group_equals, names, &index);
    return id ? &names->groups[id] : NULL;
}

uint32_t log_names_group(const struct log_names *names, uint32_t index)
{
    const struct group_note *note = NULL;

    if (index == LOG_GROUP_ROOT)
        return 0;
    note = log_names_find_group(names, index);
    return note ? note->number : names->lost_group;
}

/* Returns or creates the note of a thread; NULL: no memory. */
static struct thread_note *get_thread(struct log_names *names, uint32_t index)
{
    uint64_t hash = id_table_hash(index, 0);
    uint32_t id = id_table_find(&names->thread_table, hash, thread_equals, names, &index);
    struct thread_note *threads;

    if (id)
        return &names->threads[id];
    threads = dynamic_array_reserve(names->threads, &names->threads_capacity, names->n_threads + 2,
                                    sizeof(*threads));
    if (!threads)
        return NULL;
    names->threads = threads;
    if (id_table_add(&names->thread_table, hash, (uint32_t)names->n_threads + 1) != 0)
        return NULL;
    threads[++names->n_threads].index = index;
    return &threads[names->n_threads];
}

struct module_note *log_names_add_module(struct log_names *names, uint32_t index)
{
    uint64_t hash = id_table_hash(index, 0);
    uint32_t id = id_table_find(&names->module_table, hash, module_equals, names, &index);
    struct module_note *modules;

    if (id)
        return &names->modules[id];
    modules = dynamic_array_reserve(names->modules, &names->modules_capacity, names->n_modules + 2,
                                    sizeof(*modules));
    if (!modules)
        return NULL;
    names->modules = modules;
    if (id_table_add(&names->module_table, hash, (uint32_t)names->n_modules + 1) != 0)
        return NULL;
    modules[++names->n_modules].index = index;
    return &modules[names->n_modules];
}

static int add_process(struct log_names *names, const struct log_def *def, const char *text)
{
    const char *end = memchr(text, '\0', def->text_bytes);
    size_t path_bytes = end ? (size_t)(end - text) : def->text_bytes;
    size_t n_left = end ? def->text_bytes - path_bytes - 1 : 0;
    char *copy = text_arena_copy(names->arena, text, def->text_bytes);

    if (!copy)
        return ERROR_NOMEM;
    names->executable = path_bytes > 0 ? copy : NULL;
    names->arguments = copy + def->text_bytes - n_left;
    names->n_arguments = 0;
    for (size_t i = 0; i < n_left; i++)
        names->n_arguments += names->arguments[i] == '\0';
    if (n_left > 0 && names->arguments[n_left - 1] != '\0')
        names->n_arguments++; /* cut, or without the last NUL; the copy has one */
    return 0;
}

static int set_build_id(struct log_names *names, struct module_note *module,
                        const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    char text[2 * 64];

    if (n == 0 || n > sizeof(text) / 2)
        return 0;
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    module->build_id = text_arena_copy(names->arena, text, 2 * n);
    return module->build_id ? 0 : ERROR_NOMEM;
}

static int add_module(struct log_names *names, const struct log_def *def, const char *text)
{
    struct module_note *module = log_names_add_module(names, def->id);
    size_t id_bytes = def->extra <= def->text_bytes ? def->extra : 0;

    if (!module)
        return ERROR_NOMEM;
    module->is_unloaded = false; /* a second definition: it was opened again */
    if (module->is_defined)
        return 0;
    module->is_defined = true;
    module->load_address = def->a;
    module->start_address = def->b;
    module->size_bytes = def->c;
    module->load_ticks = def->ticks;
    module->path = text_arena_copy(names->arena, text + id_bytes, def->text_bytes - id_bytes);
    if (!module->path)
        return ERROR_NOMEM;
    return set_build_id(names, module, (const unsigned char *)text, id_bytes);
}

static int end_module(struct log_names *names, const struct log_def *def)
{
    struct module_note *module = log_names_add_module(names, def->id);

    if (!module)
        return ERROR_NOMEM;
    module->is_unloaded = true;
    module->unload_ticks = def->ticks;
    return 0;
}

/* A damaged log may contain any values. */
static bool is_stack(uint64_t address, uint64_t bytes)
{
    const uint64_t limit = UINT64_C(1) << LOG_ADDRESS_BITS;

    return address && bytes && address < limit && bytes < limit;
}

static int add_thread(struct log_names *names, const struct log_def *def, const char *text)
{
    struct thread_note *thread = get_thread(names, def->id);

    if (!thread)
        return ERROR_NOMEM;
    if (def->kind == LOG_DEF_THREAD) {
        thread->tid = (uint32_t)def->a;
        thread->start_ticks = def->ticks;
        if (is_stack(def->b, def->c)) {
            thread->stack_address = def->b;
            thread->stack_bytes = def->c;
        }
        thread->has_start = true;
    } else if (def->kind == LOG_DEF_THREAD_END) {
        thread->end_ticks = def->ticks;
        thread->has_end = true;
    } else {
        thread->name = text_arena_copy(names->arena, text, def->text_bytes);
        return thread->name ? 0 : ERROR_NOMEM;
    }
    return 0;
}

static int add_text(struct log_names *names, const struct log_def *def, const char *text)
{
    struct text_note *texts = dynamic_array_reserve(names->texts, &names->texts_capacity,
                                                    names->n_texts + 2, sizeof(*texts));
    struct text_note *note;

    if (!texts)
        return ERROR_NOMEM;
    names->texts = texts;
    note = &texts[names->n_texts + 1];
    *note = (struct text_note){.index = def->id,
                               .kind = def->kind,
                               .pid = (uint32_t)def->a,
                               .run_id = def->b,
                               .text = text_arena_copy(names->arena, text, def->text_bytes)};
    if (!note->text)
        return ERROR_NOMEM;
    names->n_texts++;
    if (def->kind != LOG_DEF_PATH && def->kind != LOG_DEF_MARKER && def->kind != LOG_DEF_POOL)
        return 0;
    if (log_names_find_text(names, def->kind, def->id))
        return 0;
    return id_table_add(&names->text_table, id_table_hash(def->id, def->kind),
                        (uint32_t)names->n_texts);
}

/* Two threads may both have written it, with the same content. */
static int add_group(struct log_names *names, const struct log_def *def, const char *text)
{
    struct group_note *groups;

    if (def->id == LOG_GROUP_ROOT || log_names_find_group(names, def->id))
        return 0;
    groups = dynamic_array_reserve(names->groups, &names->groups_capacity, names->n_groups + 2,
                                   sizeof(*groups));
    if (!groups)
        return ERROR_NOMEM;
    names->groups = groups;
    groups[names->n_groups + 1] =
        (struct group_note){.index = def->id,
                            .text = text_arena_copy(names->arena, text, def->text_bytes),
                            .text_bytes = def->text_bytes};
    if (!groups[names->n_groups + 1].text)
        return ERROR_NOMEM;
    names->n_groups++;
    return id_table_add(&names->group_table, id_table_hash(def->id, 0), (uint32_t)names->n_groups);
}

static int set_file(struct log_names *names, const struct log_def *def)
{
    struct module_note *module = log_names_add_module(names, def->id);

    if (!module)
        return ERROR_NOMEM;
    module->file_key = def->a;
    return 0;
}

static bool file_part_equals(const void *context, uint32_t id, const void *key)
{
    const struct file_part_note *note = &((const struct log_names *)context)->file_parts[id];
    const struct log_def *wanted = key;
    return note->file_key == wanted->a && note->offset == wanted->b;
}

static int add_file_part(struct log_names *names, const struct log_def *def, const char *text)
{
    uint64_t hash = id_table_hash(def->a, def->b);
    struct file_part_note *parts;

    if (id_table_find(&names->file_part_table, hash, file_part_equals, names, def))
        return 0;
    parts = dynamic_array_reserve(names->file_parts, &names->file_parts_capacity,
                                  names->n_file_parts + 2, sizeof(*parts));
    if (!parts)
        return ERROR_NOMEM;
    names->file_parts = parts;
    parts[names->n_file_parts + 1] =
        (struct file_part_note){.file_key = def->a,
                                .offset = def->b,
                                .bytes = text_arena_copy(names->arena, text, def->text_bytes),
                                .n_bytes = def->text_bytes};
    if (!parts[names->n_file_parts + 1].bytes)
        return ERROR_NOMEM;
    names->n_file_parts++;
    return id_table_add(&names->file_part_table, hash, (uint32_t)names->n_file_parts);
}

static int add_def(struct log_names *names, const struct log_def *def, const char *text,
                   uint64_t *n_unknown)
{
    switch (def->kind) {
    case LOG_DEF_PROCESS:
        return add_process(names, def, text);
    case LOG_DEF_MODULE:
        return add_module(names, def, text);
    case LOG_DEF_MODULE_END:
        return end_module(names, def);
    case LOG_DEF_THREAD:
    case LOG_DEF_THREAD_NAME:
    case LOG_DEF_THREAD_END:
        return add_thread(names, def, text);
    case LOG_DEF_PATH:
    case LOG_DEF_MARKER:
    case LOG_DEF_POOL:
    case LOG_DEF_CHILD:
    case LOG_DEF_MESSAGE:
    case LOG_DEF_SETTING:
        return add_text(names, def, text);
    case LOG_DEF_GROUP:
        return add_group(names, def, text);
    case LOG_DEF_FILE:
        return set_file(names, def);
    case LOG_DEF_FILE_PART:
        return add_file_part(names, def, text);
    default:
        ++*n_unknown;
        return 0;
    }
}

int log_names_add_defs(struct log_names *names, const void *payload, size_t n_bytes,
                       uint64_t *ret_n_unknown)
{
    const char *bytes = payload;
    size_t step;

    for (size_t at = 0; at + sizeof(struct log_def) <= n_bytes; at += step) {
        const struct log_def *def = (const struct log_def *)(const void *)(bytes + at);
        size_t record_bytes = sizeof(*def) + def->text_bytes;
        int r;
        step = LOG_DEF_ALIGN;
        if (def->magic != LOG_DEF_MAGIC || record_bytes > LOG_DEF_MAX_BYTES
            || record_bytes > n_bytes - at)
            continue;
        r = add_def(names, def, bytes + at + sizeof(*def), ret_n_unknown);
        if (r != 0)
            return r;
        step = (record_bytes + LOG_DEF_ALIGN - 1) & ~(size_t)(LOG_DEF_ALIGN - 1);
    }
    return 0;
}

static int reserve_page(struct log_names *names, size_t page)
{
    struct node_note **nodes = dynamic_array_reserve(names->node_pages, &names->node_pages_capacity,
                                                     page + 1, sizeof(*nodes));
    uint32_t **backtraces;

    if (!nodes)
        return ERROR_NOMEM;
    names->node_pages = nodes;
    backtraces = dynamic_array_reserve(names->backtrace_pages, &names->backtrace_pages_capacity,
                                       page + 1, sizeof(*backtraces));
    if (!backtraces)
        return ERROR_NOMEM;
    names->backtrace_pages = backtraces;
    if (names->n_pages < page + 1)
        names->n_pages = page + 1;
    if (!nodes[page])
        nodes[page] = calloc(LOG_NAMES_PAGE, sizeof(**nodes));
    if (!backtraces[page])
        backtraces[page] = calloc(LOG_NAMES_PAGE, sizeof(**backtraces));
    return nodes[page] && backtraces[page] ? 0 : ERROR_NOMEM;
}

int log_names_add_nodes(struct log_names *names, const void *payload, size_t n_bytes,
                        uint32_t first_node)
{
    const struct log_node *slots = payload;
    size_t n = n_bytes / sizeof(*slots);

    for (size_t i = 0; i < n; i++) {
        uint64_t node = (uint64_t)first_node + i;
        struct node_note *note;
        if (slots[i].address == 0 || node < LOG_NODE_FIRST || node >= LOG_NAMES_MAX_NODES)
            continue;
        if ((!names->node_pages || node / LOG_NAMES_PAGE >= names->n_pages
             || !names->node_pages[node / LOG_NAMES_PAGE])
            && reserve_page(names, node / LOG_NAMES_PAGE) != 0)
            return ERROR_NOMEM;
        note = &names->node_pages[node / LOG_NAMES_PAGE][node % LOG_NAMES_PAGE];
        names->n_nodes += note->address == 0;
        *note = (struct node_note){
            .parent = slots[i].parent, .module = slots[i].module, .address = slots[i].address};
    }
    return 0;
}
