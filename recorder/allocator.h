/* SPDX-License-Identifier: MIT */
/*
 * allocator: does the program bring an allocator whose C++ operators do not call malloc by name?
 *
 * Model: by the names of such libraries, in LD_PRELOAD and among what the program is linked with
 *        (DT_NEEDED). One that comes in by another library is not found; then the collector says
 *        so, and MTRACE_LIBRARY names libmtrace-new.so by hand. Failure: false.
 */
#ifndef MTRACE_RECORDER_ALLOCATOR_H
#define MTRACE_RECORDER_ALLOCATOR_H

#include <stdbool.h>

/* `path`: of the program; `preload`: its LD_PRELOAD, or NULL. */
bool allocator_has_operators(const char *path, const char *preload);

#endif
