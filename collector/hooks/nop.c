/* SPDX-License-Identifier: MIT */
/*
 * nop: libmtrace-nop.so, with the same exports as libmtrace.so.
 *
 * Each only jumps to the next definition. It is the baseline of all overhead measurements.
 */
#include "collector/arch/arch.h"
#include "collector/os/real.h"
#include "include/mtrace.h"
#include "lib/abi/attr.h"

#include <stddef.h>
#include <string.h>

/* One family to a line. */
/* clang-format off */
#define NOP_NAMES(X)                                                                               \
    X(malloc) X(free) X(calloc) X(realloc) X(reallocarray)                                         \
    X(posix_memalign) X(aligned_alloc) X(memalign) X(valloc) X(pvalloc)                            \
    X(cfree) X(free_sized) X(free_aligned_sized)                                                   \
    X(mallocx) X(rallocx) X(dallocx) X(sdallocx)                                                   \
    X(mallopt) X(malloc_trim) X(malloc_info) X(mallinfo2)                                          \
    X(mmap) X(mmap64) X(munmap) X(mremap) X(mprotect) X(pkey_mprotect) X(madvise) X(brk) X(sbrk)   \
    X(dlopen) X(dlmopen) X(dlclose) X(dlsym) X(dlvsym)                                             \
    X(pthread_create) X(thrd_create) X(pthread_setname_np) X(prctl) X(syscall) X(chroot)           \
    X(fork) X(_Fork) X(forkpty) X(daemon) X(posix_spawn) X(posix_spawnp)                           \
    X(execve) X(execv) X(execvp) X(execvpe) X(execl) X(execle) X(execlp) X(fexecve) X(execveat)    \
    X(memory_profiler_start) X(memory_profiler_stop) X(memory_profiler_sync)                       \
    X(memory_profiler_set_marker) X(memory_profiler_override_next_timestamp)                       \
    X(heaptrack_malloc) X(heaptrack_realloc) X(heaptrack_free)                                     \
    X(_exit) X(_Exit) X(quick_exit) X(abort)

/* clang-format on */

enum nop_index {
#define NOP_INDEX(name) NOP_##name,
    NOP_NAMES(NOP_INDEX)
#undef NOP_INDEX
    N_NAMES
};

static const char *const g_names[] = {
#define NOP_NAME(name) #name,
    NOP_NAMES(NOP_NAME)
#undef NOP_NAME
};

/* Used by the jumps below only. */
extern void *g_nop_targets[N_NAMES];
void *g_nop_targets[N_NAMES];
void nop_resolve(void);

static size_t answer_zero(void)
{
    return 0;
}

/* Called once, by the first jump that finds no target. */
__attribute__((used)) void nop_resolve(void)
{
    size_t (*const absent)(void) = answer_zero;

    for (size_t i = 0; i < N_NAMES; i++) {
        void *target = real_find(g_names[i]);
        if (!target)
            memcpy(&target, &absent, sizeof(target));
        g_nop_targets[i] = target;
    }
}

#define NOP_STRING(text)  #text
#define NOP_EXPAND(value) NOP_STRING(value)

/* __COUNTER__ counts as the enumeration does: each name once, in the same order. */
#define NOP_JUMP(name) NOP_JUMP_AT(name, __COUNTER__)

/* ARCH_NOP_FIRST_CALL calls nop_resolve; all argument registers survive it. ARCH_NOP_JUMP is a
 * function that jumps to its target, for a processor without that helper with the call inside. */
#ifdef ARCH_NOP_FIRST_CALL
__asm__(ARCH_NOP_FIRST_CALL);
#endif

#define NOP_JUMP_AT(name, index) __asm__(ARCH_NOP_JUMP(#name, NOP_EXPAND(index)));

NOP_NAMES(NOP_JUMP)

/* Version 0: the program takes the collector for absent. */
extern const struct mtrace_api mtrace_api_2;

MTRACE_EXPORT const struct mtrace_api mtrace_api_2 = {.version = 0};

/* What mtrace-record --detach calls: nothing is recorded. */
int mtrace_detach(const char *request);

MTRACE_EXPORT int mtrace_detach(const char *request)
{
    (void)request;
    return 1;
}
