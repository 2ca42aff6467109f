/* SPDX-License-Identifier: MIT */
/*
 * symbol_cache: caches the symbols that earlier imports found in an object, in one file per
 * build-id.
 *
 * A file has a header, the positions, a struct symbol_store and the strings; it is read and written
 * whole. It may be deleted at any time, even while another process imports.
 *
 * Invariants
 *   SY-1 A file is used only with the same identity (its debug files, and the version of their
 *        reader), a valid checksum, and every number within its table. Otherwise it is ignored.
 *   SY-2 A file is replaced as a whole by rename; of two imports at the same time, one wins.
 *
 * Errors: none; an unreadable or unwritable cache only costs time.
 */
#ifndef MTRACE_IMPORTER_SYMBOL_CACHE_H
#define MTRACE_IMPORTER_SYMBOL_CACHE_H

#include "importer/symbols/symbol_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
