/* SPDX-License-Identifier: MIT */
/*
 * reference_unwinder: libunwind's result for the calling stack.
 *
 * It is in a library of its own, so that libunwind's symbols stay away from the program
 * (RTLD_LOCAL).
 *
 * Any thread. Signals: as libunwind. On failure 0 frames.
 */
#ifndef MTRACE_COLLECTOR_REFERENCE_UNWINDER_H
#define MTRACE_COLLECTOR_REFERENCE_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Stores code addresses from the caller outwards in pcs[0..max). exact[i]: pcs[i] was interrupted
 * by a signal, not left by a call. Returns their number.
 */
size_t mtrace_oracle_walk(uintptr_t *pcs, bool *exact, size_t max);

/*
 * The same by unw_backtrace, which caches addresses and is several times faster, but does not tell
 * which addresses were interrupted.
 */
size_t mtrace_oracle_walk_fast(uintptr_t *pcs, size_t max);

#endif
