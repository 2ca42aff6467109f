/* SPDX-License-Identifier: MIT */
/*
 * symbol_cache: what earlier imports found out about an object, in one file per build-id.
 *
 * Model: a file is a header, the positions, a struct symbol_store and the strings, read and written
 *        whole. It is only a memory of answers: it may be deleted at any time, also while somebody
 *        imports.
 * Invariants
 *   SY-1 a file counts only with the same identity (the debug files it came from, and the version
 *        of what read them), a right checksum, and every number in it within its table. Else it is
 *        as if it was not there.
 *   SY-2 a file is replaced as a whole by rename; two imports at once leave one of both.
 * Failure: none; a cache that cannot be read or written costs time and nothing else.
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

/* Fills an empty store, and returns the positions it knows, ascending by offset, then is_exact; to
 * be freed. NULL: nothing known, store still empty. */
struct symbol_cache_position *symbol_cache_load(const char *dir, const char *build_id,
                                                const char *identity, struct symbol_store *store,
                                                size_t *ret_n_positions);

/* False: nothing was written. */
bool symbol_cache_save(const char *dir, const char *build_id, const char *identity,
                       const struct symbol_store *store,
                       const struct symbol_cache_position *positions, size_t n_positions);

#endif
