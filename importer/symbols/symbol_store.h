/* SPDX-License-Identifier: MIT */
/*
 * symbol_store: levels of many positions of one object, every name once.
 *
 * Levels are stored in one array; a position owns a span of it. Functions and sources are numbers
 * of interned strings.
 *
 * Threads: one per store.
 * Errors: memory only; the store is then unchanged, except for unused strings.
 */
#ifndef MTRACE_IMPORTER_SYMBOL_STORE_H
#define MTRACE_IMPORTER_SYMBOL_STORE_H

#include "lib/base/intern.h"
#include "symbolizer/symbolizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_NONE UINT32_MAX

struct symbol_level {
    uint32_t function; /* number in raw_names, SYMBOL_NONE */
    uint32_t source;   /* number in sources, SYMBOL_NONE */
    uint32_t line;     /* 0: unknown, as the next */
    uint32_t column;
};

/* Levels of one position: n_levels from first_level on; n_levels 0: not looked up yet. */
struct symbol_span {
    uint32_t first_level;
    uint32_t n_levels;
};

struct symbol_store {
    struct symbol_level *levels;
    size_t n_levels;
    size_t n_levels_allocated;
    struct intern raw_names;
    struct intern names;   /* demangled */
    uint32_t *name_of_raw; /* number in names, by number in raw_names */
    size_t n_raw_allocated;
    struct intern sources;
};

/* A zero-initialized store is empty. */
void symbol_store_done(struct symbol_store *store);

/* Adds a function by both its names, or finds it. False: no memory. */
bool symbol_store_add_function(struct symbol_store *store, const char *raw_name, const char *name,
                               uint32_t *ret_function);

bool symbol_store_add(struct symbol_store *store, const struct symbolizer_level *levels,
                      size_t n_levels, struct symbol_span *ret_span);

#endif
