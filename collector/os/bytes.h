/* SPDX-License-Identifier: MIT */
/*
 * bytes: loops over bytes that are ours. memcpy and memset of string.h are, too.
 *
 * Invariants
 *   BY-1 They bind inside the library: a program that defines its own memcpy is not called from here,
 *        and GCC's implicit calls go to them, too.
 * Threads: any. Signals: safe. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_BYTES_H
#define MTRACE_COLLECTOR_BYTES_H

#include <stdbool.h>
#include <stddef.h>

bool bytes_equal(const void *a, const void *b, size_t size_bytes);

#endif
