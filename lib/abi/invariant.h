/* SPDX-License-Identifier: MIT */
/*
 * invariant: run-time checks of the invariants in headers.
 *
 * MTRACE_ASSERT costs O(1) and is active from check level 1. MTRACE_CHECK may walk a structure and
 * is active at level 2. Below their level the expression is compiled, but never run. A failed check
 * traps: it is a bug of mtrace, and only test builds have checks.
 */
#ifndef MTRACE_LIB_INVARIANT_H
#define MTRACE_LIB_INVARIANT_H

#ifndef MTRACE_CHECK_LEVEL
#    define MTRACE_CHECK_LEVEL 0
#endif

#define MTRACE_INVARIANT_RUN(condition)  ((condition) ? (void)0 : __builtin_trap())
#define MTRACE_INVARIANT_SKIP(condition) ((void)sizeof(condition))

#if MTRACE_CHECK_LEVEL >= 1
#    define MTRACE_ASSERT(condition) MTRACE_INVARIANT_RUN(condition)
#else
#    define MTRACE_ASSERT(condition) MTRACE_INVARIANT_SKIP(condition)
#endif
#if MTRACE_CHECK_LEVEL >= 2
#    define MTRACE_CHECK(condition) MTRACE_INVARIANT_RUN(condition)
#else
#    define MTRACE_CHECK(condition) MTRACE_INVARIANT_SKIP(condition)
#endif

#endif
