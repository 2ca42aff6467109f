/* SPDX-License-Identifier: MIT */
/*
 * interpose_process: work around any call that makes a child with its own memory.
 *
 * Called by the forking thread, with its signal mask. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_INTERPOSE_PROCESS_H
#define MTRACE_COLLECTOR_INTERPOSE_PROCESS_H

#include <stdbool.h>

/* The result is for forking_ended: the caller has interrupted a recording of this thread. */
bool forking_begins(void);

/* In the parent and in the child. The child releases locks of threads that do not exist there,
 * since it may need ld.so's before its first event. */
void forking_ended(bool is_child, bool is_nested);

#endif
