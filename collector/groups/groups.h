/* SPDX-License-Identifier: MIT */
/*
 * groups: whom memory is charged to, and the names of markers, phases and pools, as the program gave
 *          them.
 *
 * Model:   three name tables; the text of a group is its name, then key and value of each tag, with
 *          NULs between. Calls that came to nothing are counted, in the log when there is one.
 * Invariants
 *   GR-1 Ids of groups begin at 2. MTRACE_GROUP_UNTRACKED is defined in the log when it is first
 *        used, MTRACE_GROUP_ROOT never.
 * Threads: any. Signals: safe. Failure: counted.
 */
#ifndef MTRACE_COLLECTOR_GROUPS_H
#define MTRACE_COLLECTOR_GROUPS_H

#include "include/mtrace.h"

#include <stdbool.h>
#include <stdint.h>

/* A new id, or with is_interned that of the same text; MTRACE_GROUP_ROOT: no memory. tags NULL: none, and counted if there should be some. */
uint32_t groups_add(const char *name, const struct mtrace_tag *tags, size_t n_tags,
                    bool is_interned);

/* The id itself if it was given, else MTRACE_GROUP_ROOT, and counted. */
uint32_t groups_check(uint32_t group);

/* Into the log of this process, if it is not there yet. Inside of a recording, or quiet (quiet.h), as all that define. */
void groups_define(uint32_t group);

/* Id of a LOG_DEF_MARKER; 0: no memory, or nothing is recorded. */
uint32_t groups_label(const char *text);

/* As groups_define. False: no room. */
bool groups_define_label(uint32_t label);

/* A new pool, from 1 on; 0: no memory. */
uint32_t groups_pool(const char *name);

/* False: no such pool, which is counted. */
bool groups_check_pool(uint32_t pool);

/* As groups_define_label; also false of an id that was never given. */
bool groups_define_pool(uint32_t pool);

void groups_count_stale_exit(void);
void groups_count_bad_handle(void);

/* All but `dropped`, which the log's header has. */
struct mtrace_counts groups_counters(void);

#endif
