/* SPDX-License-Identifier: MIT */
/*
 * readable: memory that the program passes to an exec. The kernel answers EFAULT for what cannot be
 * read there, so the collector must not read it first.
 *
 * Threads: any, a vfork child, too. Signals: safe. Failure: false, also where no system call may be
 * made. Another thread can still unmap what was readable.
 */
#ifndef MTRACE_COLLECTOR_READABLE_H
#define MTRACE_COLLECTOR_READABLE_H

#include <stdbool.h>

/* The string, up to its NUL. */
bool readable_string(const char *text);

/* The array, up to its NULL, and each string in it. */
bool readable_strings(char *const *array);

#endif
