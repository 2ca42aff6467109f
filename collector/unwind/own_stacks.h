/* SPDX-License-Identifier: MIT */
/*
 * own_stacks: the part of each thread's stack that can be read without asking the kernel.
 *
 * A table holds the whole stack of each thread. The bounds in struct unwind_memory, which each
 * capture reads, are those of a part without holes. A call of the program that may make memory
 * unreadable (mprotect, munmap, mremap, mmap with MAP_FIXED) shrinks them first. They grow again
 * when the program makes that memory readable.
 *
 * A hole made by another thread ends the bounds for good: that thread does not know where this one
 * is on its stack. The other thread waits until this one is in no recording that began before.
 *
 * Invariants
 *   OS-1 All of [stack_low, stack_high) above the stack pointer is readable, unless the program
 *        made a hole by a system call that passes no wrapper.
 *   OS-2 What a thread remembers of its own stack is forgotten before a hole is made above its
 *        stack pointer.
 *   OS-3 What any thread remembers of other stacks is forgotten when own_stacks_generation changes:
 *        before and after each such call, whatever its range.
 *   OS-4 A thread without an entry in the table loses its bounds when it makes a hole.
 *
 * Any thread; no locks. If two threads change one stack, one waits OWN_STACKS_TIME_LIMIT_NS at
 * most. Async-signal-safe. If the table is full: OS-4.
 */
#ifndef MTRACE_COLLECTOR_OWN_STACKS_H
#define MTRACE_COLLECTOR_OWN_STACKS_H

#include "collector/unwind/unwind_types.h"
#include "lib/abi/attr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OWN_STACKS_PLACES = 512,
    OWN_STACKS_TIME_LIMIT_NS = 10000000
};

/* In a fork child, where no other thread is about to make a hole. */
void own_stacks_forget_others(void);

/*
 * The calling thread begins on a stack: takes over entries of former threads that overlap it.
 * *guard is the thread's own (thread.h): odd during a recording; its lower 48 bits are an address
 * on the stack.
 */
void own_stacks_add(uintptr_t low, uintptr_t high, const uint64_t *guard);

/* In a fork child: the other threads do not exist. */
void own_stacks_forget(void);

/* The thread with these bounds ends. */
void own_stacks_remove(const struct unwind_memory *own);

/* For the calling thread's stack, after calls may have been missed: the end of what is readable
 * now. */
uintptr_t own_stacks_prove(uintptr_t low, uintptr_t high);

/* Call before the calling thread may make a range unreadable. */
void own_stacks_begin_hole(struct unwind_memory *own, const void *start, size_t length);

/* Call after it changed that range, or failed to. is_readable: all of it can be read now. */
void own_stacks_changed(struct unwind_memory *own, const void *start, size_t length,
                        bool is_readable);

/* Call when the epoch changed, or before the stack is read in another way: ends the bounds if
 * another thread made a hole. Returns the end of the whole stack; 0: nothing beyond the bounds. */
uintptr_t own_stacks_refresh(struct unwind_memory *own);

/* Number of holes that threads are about to make in stacks of other threads. */
extern MTRACE_HIDDEN _Atomic uint32_t g_own_stacks_n_pending;
bool own_stacks_is_pending_slow(uintptr_t address);

static inline bool own_stacks_is_pending(uintptr_t address)
{
    return atomic_load_explicit(&g_own_stacks_n_pending, memory_order_acquire) != 0
           && own_stacks_is_pending_slow(address);
}

/* Read by own_stacks_generation only. */
extern MTRACE_HIDDEN _Atomic uint32_t g_own_stacks_generation;

static inline uint32_t own_stacks_generation(void)
{
    return atomic_load_explicit(&g_own_stacks_generation, memory_order_acquire);
}

#endif
