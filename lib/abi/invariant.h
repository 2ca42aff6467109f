/* SPDX-License-Identifier: MIT */
/*
 * invariant: checks of the sentences that headers call invariants.
 *
 * MTRACE_ASSERT costs O(1) and is kept from check level 1, MTRACE_CHECK may walk and is kept at
 * level 2. Below their level the expression is still compiled, never run. A failed check traps: it
 * is a bug of ours, and checks are built only for tests.
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
