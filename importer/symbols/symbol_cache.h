/* SPDX-License-Identifier: MIT */
/*
 * symbol_cache: the symbols of an object, and the files that keep them for later imports, one per
 * build-id.
 *
 * A store has the levels of many positions of one object in one array; a position owns a span of
 * it. Functions and sources are numbers of interned strings, so every name is there once.
 *
 * A file has a header, the positions, a struct symbol_store and the strings; it is read and written
 * whole. It may be deleted at any time, even while another process imports.
 *
 * symbol_cache_prune limits age and size of the folder. The modification time of a file is the time
 * of its last use. Files unused for longer than max_age_s are removed, then the least recently used
 * ones until the rest fits. Partly written files of killed imports are removed after a day. Other
 * files stay.
 *
 * Invariants
 *   SY-1 A file is used only with the same identity (its debug files, and the version of their
 *        reader), a valid checksum, and every number within its table. Otherwise it is ignored.
 *   SY-2 A file is replaced as a whole by rename; of two imports at the same time, one wins.
 *
 * Threads: one per store. Errors: of a store memory only; it is then unchanged, except for unused
 * strings. Of files none: an unreadable or unwritable cache only costs time, and files that cannot
 * be removed stay.
 */
#ifndef MTRACE_IMPORTER_SYMBOL_CACHE_H
#define MTRACE_IMPORTER_SYMBOL_CACHE_H

#include "lib/base/intern.h"
#include "symbolizer/symbolizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

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

/* Adds the levels of a position. False: no memory. */
bool symbol_store_add(struct symbol_store *store, const struct symbolizer_level *levels,
                      size_t n_levels, struct symbol_span *ret_span);

struct symbol_cache_position {
    uint64_t offset;
    struct symbol_span span;
    uint32_t is_exact;
    uint32_t zero;
};

/* Fills an empty store and returns the cached positions, sorted by offset, then is_exact; free with
 * free(). NULL: nothing cached, the store is still empty. */
struct symbol_cache_position *symbol_cache_load(const char *dir, const char *build_id,
                                                const char *identity, struct symbol_store *store,
                                                size_t *ret_n_positions);

/* Returns false if nothing was written. */
bool symbol_cache_save(const char *dir, const char *build_id, const char *identity,
                       const struct symbol_store *store,
                       const struct symbol_cache_position *positions, size_t n_positions);

#define SYMBOL_CACHE_MAX_BYTES (UINT64_C(512) << 20)
#define SYMBOL_CACHE_MAX_AGE_S (90L * 24 * 3600)

/* `now` is the wall-clock time. */
void symbol_cache_prune(const char *dir, uint64_t max_bytes, time_t max_age_s, time_t now);

#endif
