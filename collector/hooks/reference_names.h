/* SPDX-License-Identifier: MIT */
/*
 * reference_names: our functions to which GOT slots are rebound (got_rebinding.h), except C++'s
 * operators.
 *
 * One thread. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_REFERENCE_NAMES_H
#define MTRACE_COLLECTOR_REFERENCE_NAMES_H

#include "collector/arch/arch.h"
#include "lib/abi/attr.h"

#include <stdint.h>

/* Only the first call has an effect. */
void reference_names_add(void);

/*
 * Names that ISO C and POSIX leave to programs: a library of the program may define them with other
 * arguments. Ours have libc's version, hidden (exports.map.in): only references to libc's functions
 * bind to them, and not the unversioned ones to a function of such a library.
 */
#ifdef MTRACE_IS_ATTACHED
#    define COMMON_NAME(name) MTRACE_HIDDEN
#elif defined(__clang__)
#    define COMMON_NAME(name)                                                  \
        __asm__(".symver mtrace_wrap_" #name "," #name "@" ARCH_LIBC_VERSION); \
        MTRACE_EXPORT
#else
#    define COMMON_NAME(name) MTRACE_EXPORT __attribute__((symver(#    name "@" ARCH_LIBC_VERSION)))
#endif

int mtrace_wrap_brk(void *wanted);
void *mtrace_wrap_sbrk(intptr_t increment);
int mtrace_wrap_madvise(void *start, size_t length, int advice);
int mtrace_wrap_prctl(int option, ...);
#ifdef __x86_64__
void mtrace_wrap_syscall(void); /* in assembly, with the arguments of syscall() */
#else
long mtrace_wrap_syscall(long number, ...);
#endif
int mtrace_wrap_chroot(const char *path);
int mtrace_wrap_daemon(int keeps_directory, int keeps_descriptors);

#endif
