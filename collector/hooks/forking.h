/* SPDX-License-Identifier: MIT */
/*
 * forking: what is done around a call that makes a child with a memory of its own, by whichever function.
 *
 * Threads: the one that forks. Signals: as the caller has them. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_FORKING_H
#define MTRACE_COLLECTOR_FORKING_H

#include <stdbool.h>

/* For forking_ended: the caller has interrupted a recording of this thread. */
bool forking_begins(void);

/* In the parent, and in the child: what other threads held is nobody's there, who may ask ld.so before its first event. */
void forking_ended(bool is_child, bool is_nested);

#endif
