/* SPDX-License-Identifier: MIT */
/* Modules of a raw recording, which repeats the whole list after each change. */
#include "importer/read/heaptrack_reader.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <stdlib.h>
#include <string.h>

static void begin_list(struct heaptrack_reader *reader)
{
    uint32_t *former = reader->former_modules;
    size_t capacity = reader->former_capacity;

    if (reader->is_listing_modules)
        heaptrack_modules_settle(reader);
    reader->former_modules = reader->current_modules;
    reader->former_capacity = reader->current_capacity;
    reader->n_former = reader->n_current;
    reader->current_modules = former;
    reader->current_capacity = capacity;
    reader->n_current = reader->n_ranges = 0;
    reader->is_listing_modules = true;
}

/* The list is in link map order, so unchanged modules keep their order. */
static uint32_t find_former(struct heaptrack_reader *reader, const char *path, size_t n_path,
                            uint64_t base)
{
    const struct log_names *names = &reader->input->names;
    size_t n_near =
        reader->n_current + 64 < reader->n_former ? reader->n_current + 64 : reader->n_former;

    for (size_t i = reader->n_current > 64 ? reader->n_current - 64 : 0; i < n_near; i++) {
        uint32_t id = reader->former_modules[i];
        if (id != 0 && names->modules[id].load_address == base
            && strlen(names->modules[id].path) == n_path
            && memcmp(names->modules[id].path, path, n_path) == 0) {
            reader->former_modules[i] = 0;
            return id;
        }
    }
    return 0;
}

static uint32_t make_module(struct heaptrack_reader *reader, const char *path, size_t n_path,
                            uint64_t base)
{
    struct log_names *names = &reader->input->names;
    struct module_note *note = log_names_add_module(names, (uint32_t)names->n_modules + 1);

    if (!note)
        return 0;
    note->path = text_arena_copy(reader->arena, path, n_path);
    note->load_address = base;
    note->start_address = base;
    note->load_ticks = reader->grammar.last_ms * 1000000;
    note->is_defined = note->path != NULL;
    return note->path ? (uint32_t)names->n_modules : 0;
}

static int add_range(struct heaptrack_reader *reader, uint32_t module, uint64_t start, uint64_t end)
{
    struct module_note *note = &reader->input->names.modules[module];
    uint64_t note_end = note->size_bytes ? note->start_address + note->size_bytes : 0;
    struct heaptrack_range *ranges = dynamic_array_reserve(reader->ranges, &reader->ranges_capacity,
                                                           reader->n_ranges + 1, sizeof(*ranges));

    if (!ranges)
        return ERROR_NOMEM;
    reader->ranges = ranges;
    ranges[reader->n_ranges++] = (struct heaptrack_range){start, end, module};
    if (note->size_bytes == 0 || start < note->start_address)
        note->start_address = start;
    note->size_bytes = (end > note_end ? end : note_end) - note->start_address;
    return 0;
}

static int add_module(struct heaptrack_reader *reader, const struct heaptrack_line *line)
{
    struct heaptrack_fields fields = line->fields;
    const char *path = line->text;
    size_t n_path = line->text_bytes;
    uint64_t start;
    uint64_t size;
    uint32_t module;
    uint32_t *current;
    int r = 0;

    if (n_path == 1 && *path == 'x') { /* the program itself */
        n_path = 0;
    } else if (n_path >= 10 && memcmp(path, "linux-vdso", 10) == 0) {
        path = "[vdso]";
        n_path = strlen(path);
    }
    module = find_former(reader, path, n_path, line->a);
    if (module == 0)
        module = make_module(reader, path, n_path, line->a);
    current = dynamic_array_reserve(reader->current_modules, &reader->current_capacity,
                                    reader->n_current + 1, sizeof(*current));
    if (module == 0 || !current)
        return ERROR_NOMEM;
    reader->current_modules = current;
    current[reader->n_current++] = module;
    while (r == 0 && heaptrack_line_field(&fields, &start) && heaptrack_line_field(&fields, &size))
        if (size > 0 && start < INT64_MAX - size && line->a < INT64_MAX - start - size)
            r = add_range(reader, module, line->a + start, line->a + start + size);
    return r;
}

int heaptrack_modules_line(struct heaptrack_reader *reader, const struct heaptrack_line *line)
{
    if (line->kind == HEAPTRACK_NO_MODULES) {
        begin_list(reader);
        return 0;
    }
    reader->is_listing_modules = true;
    return add_module(reader, line);
}

static int compare_ranges(const void *left, const void *right)
{
    const struct heaptrack_range *a = left;
    const struct heaptrack_range *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

void heaptrack_modules_settle(struct heaptrack_reader *reader)
{
    for (size_t i = 0; i < reader->n_former; i++) {
        struct module_note *note = &reader->input->names.modules[reader->former_modules[i]];
        if (reader->former_modules[i] == 0)
            continue;
        note->is_unloaded = true;
        note->unload_ticks = reader->grammar.last_ms * 1000000;
    }
    reader->n_former = 0;
    if (reader->n_ranges > 1)
        qsort(reader->ranges, reader->n_ranges, sizeof(*reader->ranges), compare_ranges);
    reader->is_listing_modules = false;
}

uint32_t heaptrack_modules_find(const struct heaptrack_reader *reader, uint64_t address)
{
    size_t i;

    LOWER_BOUND(i, reader->n_ranges, reader->ranges[i].start <= address);
    return i > 0 && address < reader->ranges[i - 1].end ? reader->ranges[i - 1].module : 0;
}
