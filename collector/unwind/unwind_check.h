/* SPDX-License-Identifier: MIT */
/*
 * unwind_check: MTRACE_UNWINDER=check. Compares our stacks with libunwind's and counts differences.
 *
 * A stack that is marked truncated or guessed is counted neither as checked nor as different:
 * libunwind guesses there, too. Messages describe the first differences.
 *
 * Any thread. Async-signal-safe.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_CHECK_H
#define MTRACE_COLLECTOR_UNWIND_CHECK_H

#include "collector/unwind/unwind_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Compares the last capture of this memory with libunwind's frames of the same stack, innermost
 * first; is_exact[i] as in reference_unwinder.h.
 */
void unwind_check(const struct unwind_memory *memory, const uintptr_t *pcs, const bool *is_exact,
                  size_t n_frames);

#endif
