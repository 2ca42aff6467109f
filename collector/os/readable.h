/* SPDX-License-Identifier: MIT */
/*
 * readable: checks memory that the program passes to an exec.
 *
 * The kernel answers EFAULT for unreadable memory, so the collector must not read it first.
 *
 * Any thread, also of a vfork child. Async-signal-safe. False also where system calls are
 * forbidden. Another thread may still unmap what was readable.
 */
#ifndef MTRACE_COLLECTOR_READABLE_H
#define MTRACE_COLLECTOR_READABLE_H

#include <stdbool.h>

/* The string, up to its NUL. */
bool readable_string(const char *text);

/* The array, up to its NULL, and each string in it. */
bool readable_strings(char *const *array);

#endif
