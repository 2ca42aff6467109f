/* SPDX-License-Identifier: MIT */
/*
 * other_thread: finds the stack pointer of another thread of this process.
 *
 * Any thread. Async-signal-safe. Returns 0 if unknown.
 */
#ifndef MTRACE_COLLECTOR_OTHER_THREAD_H
#define MTRACE_COLLECTOR_OTHER_THREAD_H

#include <stdint.h>

/* The stack pointer of a thread that waits in the kernel. 0: the thread runs or has exited, or the
 * kernel does not tell (no /proc, a seccomp filter, another user). The thread may have moved when
 * this returns. */
uintptr_t other_thread_stack_pointer(long tid);

#endif
