/* SPDX-License-Identifier: MIT */
/*
 * interpose_attached: what mtrace-record --attach calls in a program that runs, of libmtrace-attach.so alone.
 */
#include "collector/attached/references.h"
#include "collector/interpose/operator_table.h"
#include "collector/life/lifecycle.h"
#include "collector/platform/loader_lock.h"
#include "collector/platform/operator_names.h"
#include "collector/platform/real.h"
#include "collector/record/state.h"
#include "common/attach_answer.h"
#include "common/attr.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

int mtrace_attach(const char *settings);
int mtrace_detach(const char *unused);

/* Not declared by every libc. NOLINTBEGIN(readability-redundant-declaration) */
void cfree(void *block);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);
void *mallocx(size_t size, int flags);
void *rallocx(void *old, size_t size, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);
pid_t _Fork(void);
/* Of interpose_new.c, of no type that matters here. */
#define DECLARE(kind, slot, name) void name(void);
OPERATOR_NAMES(DECLARE)
#undef DECLARE
/* NOLINTEND(readability-redundant-declaration) */

/* No expression. NOLINTBEGIN(bugprone-macro-parentheses) */
#define REFERENCE(name)                                             \
    {                                                               \
#        name, (void *)(uintptr_t)name, offsetof(struct real, name) \
    }
#define OPERATOR(kind, slot, name) \
    {#name, (void *)(uintptr_t)name, offsetof(struct real, operators.name)},
/* NOLINTEND(bugprone-macro-parentheses) */

static const struct reference g_names[] = {
    REFERENCE(malloc),
    REFERENCE(free),
    REFERENCE(calloc),
    REFERENCE(realloc),
    REFERENCE(posix_memalign),
    REFERENCE(aligned_alloc),
    REFERENCE(memalign),
    REFERENCE(valloc),
    REFERENCE(pvalloc),
    REFERENCE(cfree),
    REFERENCE(free_sized),
    REFERENCE(free_aligned_sized),
    REFERENCE(mallocx),
    REFERENCE(rallocx),
    REFERENCE(dallocx),
    REFERENCE(sdallocx),
    REFERENCE(mallopt),
    REFERENCE(malloc_trim),
    REFERENCE(malloc_info),
    REFERENCE(mallinfo2),
    REFERENCE(mmap),
    REFERENCE(mmap64),
    REFERENCE(munmap),
    REFERENCE(mremap),
    REFERENCE(mprotect),
    REFERENCE(brk),
    REFERENCE(sbrk),
    REFERENCE(dlclose),
    REFERENCE(pthread_create),
    REFERENCE(thrd_create),
    REFERENCE(pthread_setname_np),
    REFERENCE(prctl),
    REFERENCE(syscall),
    REFERENCE(chroot),
    REFERENCE(fork),
    REFERENCE(_Fork),
    REFERENCE(forkpty),
    REFERENCE(daemon),
    REFERENCE(execv),
    REFERENCE(execvp),
    REFERENCE(execl),
    REFERENCE(execle),
    REFERENCE(execlp),
    REFERENCE(execve),
    REFERENCE(execvpe),
    REFERENCE(fexecve),
    REFERENCE(execveat),
    REFERENCE(posix_spawn),
    REFERENCE(posix_spawnp),
    REFERENCE(quick_exit),
    REFERENCE(abort),
    {"_exit", (void *)(uintptr_t)_exit, offsetof(struct real, exit_immediately)},
    OPERATOR_NAMES(OPERATOR)
#undef REFERENCE
#undef OPERATOR
};

/* By the collector that the program was started with. With ld.so locked, see find_operators. */
static bool is_recorded(void)
{
    int (*detach)(const char *) = NULL;

    real_search_all();
    *(void **)(void *)&detach = real_find("mtrace_detach");
    return detach && detach("?") == 0;
}

/* With ld.so locked, as other threads load and unload meanwhile. */
static bool find_operators(void)
{
    real_search_all();
    operator_table_find();
    return true;
}

/* An enum attach_answer. */
MTRACE_EXPORT int mtrace_attach(const char *settings)
{
    if (state_is_recording())
        return ATTACH_ANSWER_ATTACHED;
    if (!references_init(g_names, sizeof(g_names) / sizeof(g_names[0])))
        return ATTACH_ANSWER_NO_LOADER;
    if (loader_lock_call(is_recorded))
        return ATTACH_ANSWER_RECORDED;
    if (!g_real.malloc)
        (void)loader_lock_call(find_operators);
    return lifecycle_attach(settings) ? ATTACH_ANSWER_DONE : ATTACH_ANSWER_NO_LOG;
}

MTRACE_EXPORT int mtrace_detach(const char *unused)
{
    (void)unused;
    return lifecycle_detach() ? 0 : 1;
}
