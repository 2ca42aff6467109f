/* SPDX-License-Identifier: MIT */
/*
 * other_thread: where another thread of this process stands.
 *
 * Threads: any. Signals: safe. Failure: 0, not known.
 */
#ifndef MTRACE_COLLECTOR_OTHER_THREAD_H
#define MTRACE_COLLECTOR_OTHER_THREAD_H

#include <stdint.h>

/* The stack pointer of a thread that waits in the kernel. 0: it runs, is gone, or the kernel does not say
 * (no /proc, a seccomp filter, another user). By the time this returns the thread may have gone on. */
uintptr_t other_thread_stack_pointer(long tid);

#endif
