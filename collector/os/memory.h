/* SPDX-License-Identifier: MIT */
/*
 * memory: the collector's own memory. Never the program's heap.
 *
 * Invariants
 *   ME-1 Mappings are zeroed and not inherited by fork (MADV_DONTFORK), except
 *        memory_map_inherited.
 * Threads: any. Signals: safe. Failure: NULL.
 */
#ifndef MTRACE_COLLECTOR_MEMORY_H
#define MTRACE_COLLECTOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Size is rounded up to pages by the kernel; not visible in a fork child, nor in a core dump. */
void *memory_map(size_t size_bytes);

/* For what the program itself can reach (its environment): stays in fork children. */
void *memory_map_inherited(size_t size_bytes);

/*
 * For a fork by a signal handler that interrupted us: from now on all mappings are inherited, so
 * that in the child the interrupted code finds them when the handler returns. Forks become dearer.
 */
void memory_inherit(void);

void memory_unmap(void *start, size_t size_bytes);

/*
 * A buffer of MEMORY_BORROWED_BYTES for a moment, so that paths do not lie on the program's stack.
 * Contents are arbitrary. Give it back at once.
 */
enum {
    MEMORY_BORROWED_BYTES = 8192
};

char *memory_borrow(void);
void memory_return(char *borrowed);

/* In a fork child that has no use for what it inherited: another thread of the parent may have had the buffer. */
void memory_forget(void);

/* Where no thread is among our code, and nothing is remembered of what was mapped; also forgets it. */
void memory_unmap_all(void);

#endif
