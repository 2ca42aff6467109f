/* SPDX-License-Identifier: MIT */
/*
 * loader_lock: the lock under which ld.so changes its list of modules and unmaps modules.
 *
 * dl_iterate_phdr holds it during its callbacks. This is how it is found: it is a mutex in ld.so's
 * data that the calling thread holds inside the callback, but not after it. Later the lock is only
 * tried, because a caller of the allocator may hold what the thread that has the lock waits for.
 *
 * Invariants
 *   LL-1 Between loader_lock_try and loader_lock_leave, and inside loader_lock_call, all modules of
 *        the list and their entries stay mapped.
 *   LL-2 loader_lock_try never waits. It fails in a thread that has the lock: that thread may be
 *        changing the list.
 *
 * One thread calls loader_lock_find, any thread the others. The caller blocks signals. False on
 * failure.
 */
#ifndef MTRACE_COLLECTOR_LOADER_LOCK_H
#define MTRACE_COLLECTOR_LOADER_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Waits for ld.so where dlopen would. False: ld.so has no such lock. */
bool loader_lock_find(void);

/* After it was found: runs `work` with the lock and returns its result. The caller may wait for the
 * lock as dlopen does. */
bool loader_lock_call(bool (*work)(void));

bool loader_lock_try(void);

/* Like loader_lock_try, but also succeeds in a thread that has the lock: for calls that ld.so never
 * makes, least of all during a change. */
bool loader_lock_try_nested(void);
void loader_lock_leave(void);

/* How many modules ld.so has unloaded so far. The caller has the lock. dlclose is not the only way:
 * libc unloads modules itself, and a call may have passed dlclose's wrapper by. */
uint64_t loader_lock_count_unloads(void);

/* In a fork child: the holder by loader_lock_try does not exist there, and changed nothing under
 * the lock. */
void loader_lock_forget(void);

#endif
