/* SPDX-License-Identifier: MIT */
/*
 * groups: allocation groups, and the names of markers, phases and pools that the program gave.
 *
 * There are three name tables. The text of a group is its name, then key and value of each tag,
 * separated by NULs. Calls that fail are counted, in the log if there is one.
 *
 * Invariants
 *   GR-1 Ids of groups begin at 2. MTRACE_GROUP_UNTRACKED is defined in the log when it is first
 *        used, MTRACE_GROUP_ROOT never.
 *
 * Threads: any. Async-signal-safe. Failures are counted.
 */
#ifndef MTRACE_COLLECTOR_GROUPS_H
#define MTRACE_COLLECTOR_GROUPS_H

#include "include/mtrace.h"

#include <stdbool.h>
#include <stdint.h>

/* Returns a new id; with is_interned that of an equal text, if there is one. MTRACE_GROUP_ROOT: no
 * memory. tags NULL: no tags; counted as an error if n_tags is not 0. */
uint32_t groups_add(const char *name, const struct mtrace_tag *tags, size_t n_tags,
                    bool is_interned);

/* Returns the id if it was given out, else MTRACE_GROUP_ROOT, and counts the error. */
uint32_t groups_check(uint32_t group);

/* Writes the definition into the log of this process, unless it is there already. Call all
 * functions that define inside a recording or a quiet section (state.h). */
void groups_define(uint32_t group);

/* Id of a LOG_DEF_MARKER. 0: no memory, or not recording. */
uint32_t groups_label(const char *text);

/* As groups_define. False: no space. */
bool groups_define_label(uint32_t label);

/* Id of a new pool, from 1 on. 0: no memory. */
uint32_t groups_pool(const char *name);

/* False: there is no such pool. Counts the error. */
bool groups_check_pool(uint32_t pool);

/* As groups_define_label. Also false for an id that was never given out. */
bool groups_define_pool(uint32_t pool);

void groups_count_stale_exit(void);
void groups_count_bad_handle(void);

/* All counters except `dropped`, which is in the header of the log. */
struct mtrace_counts groups_counters(void);

#endif
