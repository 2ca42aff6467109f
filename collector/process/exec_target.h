/* SPDX-License-Identifier: MIT */
/*
 * exec_target: which of our libraries can be loaded into a program that is about to be executed.
 *
 * A 64-bit system also runs 32-bit programs, and ld.so reports an error for a library of the other
 * width. The loader of another libc ends a program that is given our library. So the file is
 * examined, or the interpreter that a script names. The library for the other width is where
 * mtrace-record looks for it (recorder/session/collector_library.h).
 *
 * Threads: any, also a vfork child. Async-signal-safe. A file that cannot be read counts as one of
 * our own width.
 */
#ifndef MTRACE_COLLECTOR_EXEC_TARGET_H
#define MTRACE_COLLECTOR_EXEC_TARGET_H

#include <stdbool.h>

/* The path of the library for a program; NULL: there is none. is_searched: `path` is a name that
 * PATH resolves. */
const char *exec_target_library(const char *path, bool is_searched);

/* The same for execveat: a path relative to a directory descriptor; "": the file of the
 * descriptor. */
const char *exec_target_library_at(int directory, const char *path);

#endif
