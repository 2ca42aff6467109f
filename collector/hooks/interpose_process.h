/* SPDX-License-Identifier: MIT */
/*
 * interpose_process: what precedes and follows each call that makes a child with its own memory.
 *
 * Called by the forking thread, with its signal mask. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_INTERPOSE_PROCESS_H
#define MTRACE_COLLECTOR_INTERPOSE_PROCESS_H

#include <stdbool.h>

/* The result is for interpose_process_fork_ended: the caller has interrupted a recording of this
 * thread. */
bool interpose_process_fork_begins(void);

/* In the parent and in the child. The child releases locks of threads that do not exist there,
 * since it may need ld.so's before its first event. */
void interpose_process_fork_ended(bool is_child, bool is_nested);

#endif
