/* SPDX-License-Identifier: MIT */
#include "importer/symbols/symbol_store.h"

#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

void symbol_store_done(struct symbol_store *store)
{
    free(store->levels);
    free(store->name_of_raw);
    intern_done(&store->raw_names);
    intern_done(&store->names);
    intern_done(&store->sources);
    memset(store, 0, sizeof(*store));
}

static bool grow_levels(struct symbol_store *store, size_t n_more)
{
    struct symbol_level *levels =
        store->n_levels + n_more < SYMBOL_NONE
            ? dynamic_array_reserve(store->levels, &store->n_levels_allocated,
                                    store->n_levels + n_more + 1, sizeof(*levels))
            : NULL;

    if (levels)
        store->levels = levels;
    return levels != NULL;
}

static bool keep_name(struct symbol_store *store, uint32_t raw, const char *name)
{
    uint32_t *names = dynamic_array_reserve(store->name_of_raw, &store->n_raw_allocated,
                                            (size_t)raw + 1, sizeof(*names));
    int64_t number;

    if (!names)
        return false;
    store->name_of_raw = names;
    number = intern_add(&store->names, name, strlen(name));
    names[raw] = (uint32_t)number;
    return number >= 0;
}

bool symbol_store_add_function(struct symbol_store *store, const char *raw_name, const char *name,
                               uint32_t *ret_function)
{
    uint32_t n_before = store->raw_names.n_strings;
    int64_t raw = intern_add(&store->raw_names, raw_name, strlen(raw_name));

    *ret_function = (uint32_t)raw;
    return raw >= 0 && (raw != n_before || keep_name(store, n_before, name));
}

static bool fill(struct symbol_store *store, struct symbol_level *level,
                 const struct symbolizer_level *found)
{
    int64_t source = SYMBOL_NONE;

    *level = (struct symbol_level){
        .function = SYMBOL_NONE, .line = found->line, .column = found->column};
    if (found->source)
        source = intern_add(&store->sources, found->source, strlen(found->source));
    level->source = (uint32_t)source;
    if (source < 0)
        return false;
    return !found->raw_name
           || symbol_store_add_function(store, found->raw_name, found->function, &level->function);
}

bool symbol_store_add(struct symbol_store *store, const struct symbolizer_level *levels,
                      size_t n_levels, struct symbol_span *ret_span)
{
    if (!grow_levels(store, n_levels))
        return false;
    for (size_t i = 0; i < n_levels; i++)
        if (!fill(store, &store->levels[store->n_levels + i], &levels[i]))
            return false;
    *ret_span = (struct symbol_span){.first_level = (uint32_t)store->n_levels,
                                     .n_levels = (uint32_t)n_levels};
    store->n_levels += n_levels;
    return true;
}
