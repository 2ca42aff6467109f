/* SPDX-License-Identifier: MIT */
/*
 * safe_point: can a stopped thread call dlopen without a deadlock?
 *
 * libdw walks its stack. The thread must not be in ld.so, in an allocator, or in the library, which
 * may hold ld.so's lock. If it is in libc, it must have entered by a function that holds no libc
 * lock, or only that of its stream, while it waits or while it calls foreign code. A stack that
 * cannot be walked is not safe. Other threads run on, so they release their locks. Nor is a PLT
 * stub safe: ld.so would store the real function in the slot, and its calls would not be recorded.
 *
 * Threads: the tracing thread.
 */
#ifndef MTRACE_RECORDER_SAFE_POINT_H
#define MTRACE_RECORDER_SAFE_POINT_H

#include "recorder/attach/target.h"

#include <stdbool.h>

struct safe_point;

/* Reads files, so call it before any thread is stopped. `library`: the one to load, or loaded
 * before; kept. NULL: the process cannot be inspected. */
struct safe_point *safe_point_new(const struct target *target, const char *library);
void safe_point_free(struct safe_point *place);

/* For a thread that the caller traces and has stopped. ret_why: where it is, if it is not safe. */
bool safe_point_is(struct safe_point *place, pid_t tid, const char **ret_why);

/* As far as its stack can be walked to its end, the thread is not in the library. Same
 * conditions. */
bool safe_point_is_outside(struct safe_point *place, pid_t tid);

#endif
