/* SPDX-License-Identifier: MIT */
/*
 * memory: mappings for the collector's own data. It never uses the program's heap.
 *
 * Mappings are zeroed and not inherited by fork (MADV_DONTFORK), except those of memory_map_inherited.
 * Any thread. Async-signal-safe. NULL on failure.
 */
#ifndef MTRACE_COLLECTOR_MEMORY_H
#define MTRACE_COLLECTOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* The kernel rounds the size up to pages. Not in core dumps. */
void *memory_map(size_t size_bytes);

/* For memory that the program itself uses (its environment). */
void *memory_map_inherited(size_t size_bytes);

/*
 * Before a fork in a signal handler that interrupted the collector: from now on all mappings are
 * inherited, so that the interrupted code in the child finds them. Later forks take longer.
 */
void memory_inherit(void);

void memory_unmap(void *start, size_t size_bytes);

/*
 * A buffer of MEMORY_BORROWED_BYTES for a short use, so that paths need no space on the program's stack.
 * Its content is arbitrary.
 */
enum {
    MEMORY_BORROWED_BYTES = 8192
};

char *memory_borrow(void);
void memory_return(char *borrowed);

/* In a fork child: another thread of the parent may have had the buffer. */
void memory_forget(void);

/* Unmaps everything. No thread may be in the collector, and no pointer to a mapping may be left. */
void memory_unmap_all(void);

#endif
