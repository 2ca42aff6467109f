/* SPDX-License-Identifier: MIT */
/*
 * symbol_cache_prune: limits age and size of the folder of symbol_cache.
 *
 * The modification time of a file is the time of its last use. Files unused for longer than
 * max_age_s are removed, then the least recently used ones until the rest fits. Partly written
 * files of killed imports are removed after a day. Other files stay.
 *
 * Errors: none; files that cannot be removed stay.
 */
#ifndef MTRACE_IMPORTER_SYMBOL_CACHE_PRUNE_H
#define MTRACE_IMPORTER_SYMBOL_CACHE_PRUNE_H

#include <stdint.h>
#include <time.h>

#define SYMBOL_CACHE_MAX_BYTES (UINT64_C(512) << 20)
#define SYMBOL_CACHE_MAX_AGE_S (90L * 24 * 3600)

/* `now` is the wall-clock time. */
void symbol_cache_prune(const char *dir, uint64_t max_bytes, time_t max_age_s, time_t now);

#endif
