/* SPDX-License-Identifier: MIT */
/*
 * bytes: our own loops over bytes, including memcpy and memset of string.h.
 *
 *   BY-1 They bind inside the library, also for GCC's implicit calls. A memcpy of the program is
 *        never called from here.
 *
 * Any thread. Async-signal-safe. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_BYTES_H
#define MTRACE_COLLECTOR_BYTES_H

#include <stdbool.h>
#include <stddef.h>

bool bytes_equal(const void *a, const void *b, size_t size_bytes);

#endif
