/* SPDX-License-Identifier: MIT */
/*
 * loader_lock: the lock under which ld.so changes its list of modules and unmaps what it takes from it.
 *
 * Model:   dl_iterate_phdr holds it for as long as it calls back, and that is how it is found: a mutex among ld.so's data that the calling
 *          thread holds inside of the callback, and not behind it. Later it is only tried, because a caller of the allocator may hold what the
 *          thread waits for that has it.
 * Invariants
 *   LL-1 Between loader_lock_try and loader_lock_leave, and inside of loader_lock_call, all modules of the list stay mapped, and their entries stay.
 *   LL-2 loader_lock_try never waits, and fails in a thread that has the lock: it may be in the midst of a change.
 * Threads: find once; the others any. Signals: blocked by the caller. Failure: false.
 */
#ifndef MTRACE_COLLECTOR_LOADER_LOCK_H
#define MTRACE_COLLECTOR_LOADER_LOCK_H

#include <stdbool.h>

/* Waits for ld.so where dlopen would. False: it has no lock of the kind. */
bool loader_lock_find(void);

/* Once it is found: `work` is done with it, by one who may wait for it as dlopen does. What `work` answers. */
bool loader_lock_call(bool (*work)(void));

bool loader_lock_try(void);

/* The same, also in a thread that has the lock: for calls that ld.so never makes, least of all in the midst of a change. */
bool loader_lock_try_nested(void);
void loader_lock_leave(void);

/* In a fork child: who had it by loader_lock_try is not there, and changed nothing under it. */
void loader_lock_forget(void);

#endif
