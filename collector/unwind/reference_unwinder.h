/* SPDX-License-Identifier: MIT */
/*
 * oracle: libunwind's opinion about the calling stack, in a library of its own so that libunwind's
 * symbols never come near the program (RTLD_LOCAL).
 *
 * Threads: any. Signals: libunwind's rules. Failure: 0 frames.
 */
#ifndef MTRACE_COLLECTOR_REFERENCE_UNWINDER_H
#define MTRACE_COLLECTOR_REFERENCE_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Code addresses from the caller of this function outwards into pcs[0..max), exact[i] true when
 * pcs[i] was interrupted by a signal rather than left by a call; how many.
 */
size_t mtrace_oracle_walk(uintptr_t *pcs, bool *exact, size_t max);

/*
 * The same by unw_backtrace, which keeps what it learned of each address and is several times
 * faster, but does not tell which addresses were interrupted.
 */
size_t mtrace_oracle_walk_fast(uintptr_t *pcs, size_t max);

#endif
