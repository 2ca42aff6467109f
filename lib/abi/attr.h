/* SPDX-License-Identifier: MIT */
/*
 * attr: the few attribute macros this project uses. Headers only, freestanding.
 */
#ifndef MTRACE_LIB_ATTR_H
#define MTRACE_LIB_ATTR_H

#define MTRACE_EXPORT __attribute__((visibility("default")))
/* Of a variable of another file in the same library: -fvisibility is about definitions, and without this each access
 * computes the address first. */
#define MTRACE_HIDDEN    __attribute__((visibility("hidden")))
#define MTRACE_COLD      __attribute__((cold, noinline))
#define MTRACE_HOT       __attribute__((hot, noinline))
#define MTRACE_NOINLINE  __attribute__((noinline))
#define MTRACE_INLINE    static inline __attribute__((always_inline))
#define MTRACE_NODISCARD __attribute__((warn_unused_result))
#define MTRACE_NORETURN  __attribute__((noreturn))
#define MTRACE_PRINTF(format_index, first_index) \
    __attribute__((format(printf, format_index, first_index)))

/* What its caller ends with, in files where MTRACE_HAS_JUMPS says that the compiler makes a jump of that: it finds the program's
 * stack, and where it returns to, as its caller did. */
#ifdef MTRACE_HAS_JUMPS
#    define MTRACE_JUMPED_TO static __attribute__((noinline))
#else
#    define MTRACE_JUMPED_TO static inline __attribute__((always_inline))
#endif

#define mtrace_likely(condition)   __builtin_expect(!!(condition), 1)
#define mtrace_unlikely(condition) __builtin_expect(!!(condition), 0)

#endif
