/* SPDX-License-Identifier: MIT */
/*
 * attr: attribute macros.
 */
#ifndef MTRACE_LIB_ATTR_H
#define MTRACE_LIB_ATTR_H

#define MTRACE_EXPORT __attribute__((visibility("default")))
/* For a variable defined in another file of the same library: avoids a load from the GOT. */
#define MTRACE_HIDDEN    __attribute__((visibility("hidden")))
#define MTRACE_COLD      __attribute__((cold, noinline))
#define MTRACE_HOT       __attribute__((hot, noinline))
#define MTRACE_NOINLINE  __attribute__((noinline))
#define MTRACE_INLINE    static inline __attribute__((always_inline))
#define MTRACE_NODISCARD __attribute__((warn_unused_result))
#define MTRACE_NORETURN  __attribute__((noreturn))
#define MTRACE_PRINTF(format_index, first_index) \
    __attribute__((format(printf, format_index, first_index)))

/*
 * A function in tail position. In files with MTRACE_HAS_JUMPS the compiler makes the call a jump,
 * so the function has the caller's stack pointer and return address.
 */
#ifdef MTRACE_HAS_JUMPS
#    define MTRACE_JUMPED_TO static __attribute__((noinline))
#else
#    define MTRACE_JUMPED_TO static inline __attribute__((always_inline))
#endif

#define mtrace_likely(condition)   __builtin_expect(!!(condition), 1)
#define mtrace_unlikely(condition) __builtin_expect(!!(condition), 0)

#endif
