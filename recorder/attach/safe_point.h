/* SPDX-License-Identifier: MIT */
/*
 * safe_place: may a thread that is stopped now call dlopen without waiting for itself?
 *
 * Model:   its stack is walked by libdw. It must not be in ld.so, in an allocator or in the library, which may have ld.so locked; and what it is
 *          in of libc it must have entered by a function that is known to hold none of libc's locks while it waits, or calls what is
 *          not libc's. What cannot be walked is not safe. Other threads run on meanwhile, so what they hold they give back.
 * Threads: the one that traces.
 */
#ifndef MTRACE_RECORDER_SAFE_POINT_H
#define MTRACE_RECORDER_SAFE_POINT_H

#include "recorder/attach/target.h"

#include <stdbool.h>

struct safe_point;

/* Before any thread is stopped, as it reads files. `library`: what is loaded, or was before; kept. NULL: the process cannot be looked at. */
struct safe_point *safe_point_new(const struct target *target, const char *library);
void safe_point_free(struct safe_point *place);

/* A thread that the caller traces, and that is stopped. ret_why: where it is, if it is not safe. */
bool safe_point_is(struct safe_point *place, pid_t tid, const char **ret_why);

/* Is it nowhere in the library, as far as its stack can be walked to its end? As above. */
bool safe_point_is_outside(struct safe_point *place, pid_t tid);

#endif
