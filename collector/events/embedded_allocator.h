/* SPDX-License-Identifier: MIT */
/*
 * inside: an allocator inside the executable, whose functions no library can stand before.
 *
 * Model:   mtrace-record has looked at the executable and handed over a plan
 *          (recorder/patch/patch_plan.h).
 *          Each function in it gets a jump to one of ours at its entry (code_patch.h); ours calls the
 *          original and records what it did, as the wrappers do for libc's. While the original runs,
 *          what it calls by name is its own business (recursion_guard.h): one call is one event.
 * Invariants
 *   IN-1 Redirected is what a plan for this very file names, all of it or nothing.
 *   IN-2 Usable bytes are asked of the allocator that made the block, or are not known.
 * Threads: embedded_allocator_redirect before there are others; the rest is constant afterwards. Signals: blocked
 *          meanwhile. Failure: the program is as it was, and the log says why.
 */
#ifndef MTRACE_COLLECTOR_EMBEDDED_ALLOCATOR_H
#define MTRACE_COLLECTOR_EMBEDDED_ALLOCATOR_H

#include "lib/abi/log_format.h"

#include <stddef.h>

/* Once, before the program's main. plan: n_bytes, not NUL-terminated; NULL: none. */
void embedded_allocator_redirect(const char *plan, size_t n_bytes);

enum log_inside embedded_allocator_state(void);

#endif
