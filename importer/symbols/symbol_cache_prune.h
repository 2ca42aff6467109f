/* SPDX-License-Identifier: MIT */
/*
 * symbol_cache_prune: keeps the folder of symbol_cache from growing for ever.
 *
 * Model: a file's time of modification is when it was last of use. Files that were of none for long
 *        go, then the longest unused ones until the rest fits. What a killed import left half
 *        written goes after a day. Other files are left alone.
 * Failure: none; what cannot be removed stays.
 */
#ifndef MTRACE_IMPORTER_SYMBOL_CACHE_PRUNE_H
#define MTRACE_IMPORTER_SYMBOL_CACHE_PRUNE_H

#include <stdint.h>
#include <time.h>

#define SYMBOL_CACHE_MAX_BYTES (UINT64_C(512) << 20)
#define SYMBOL_CACHE_MAX_AGE_S (90L * 24 * 3600)

/* `now` is the time of day. */
void symbol_cache_prune(const char *dir, uint64_t max_bytes, time_t max_age_s, time_t now);

#endif
