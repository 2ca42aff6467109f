/* SPDX-License-Identifier: MIT */
/*
 * embedded_allocator: records an allocator inside the executable, where no library can interpose.
 *
 * mtrace-record reads the executable and passes a patch plan (recorder/patch/patch_plan.h). The
 * entry of each function in the plan becomes a jump to a hook (code_patch.h). The hook calls the
 * original and records the result, as wrappers do for libc. Calls that the original makes itself
 * are not recorded (allocator_guard.h), so that one call is one event.
 *
 * Invariants
 *   IN-1 The functions of a plan are patched together or not at all, and only if the plan is for
 *        this very file.
 *   IN-2 The usable size comes from the allocator that made the block, or is unknown.
 *
 * Threads: embedded_allocator_redirect runs while there is one thread, with signals blocked. Its
 * data is constant afterwards. On failure the program is unchanged, and embedded_allocator_state
 * says why.
 */
#ifndef MTRACE_COLLECTOR_EMBEDDED_ALLOCATOR_H
#define MTRACE_COLLECTOR_EMBEDDED_ALLOCATOR_H

#include "lib/abi/log_format.h"

#include <stddef.h>

/* Once, before main. plan: n_bytes, without a NUL; NULL: there is none. */
void embedded_allocator_redirect(const char *plan, size_t n_bytes);

enum log_embedded embedded_allocator_state(void);

#endif
