/* SPDX-License-Identifier: MIT */
#include "collector/hooks/reference_names.h"

#include "collector/os/real.h"
#include "collector/process/got_rebinding.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Not declared by every libc. NOLINTBEGIN(readability-redundant-declaration) */
void cfree(void *block);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);
void *mallocx(size_t size, int flags);
void *rallocx(void *old, size_t size, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);
pid_t _Fork(void);
/* NOLINTEND(readability-redundant-declaration) */

/* No expression. NOLINTBEGIN(bugprone-macro-parentheses) */
#define REFERENCE(name)                                                           \
    {                                                                             \
#        name, (void *)(uintptr_t)name, offsetof(struct real, name), false, false \
    }
#define MEMORY(name)                                                            \
    {                                                                           \
#        name, (void *)(uintptr_t)name, offsetof(struct real, name), true, true \
    }
#define COMMON(name)                                                                           \
    {                                                                                          \
#        name, (void *)(uintptr_t)mtrace_wrap_##name, offsetof(struct real, name), true, false \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

static const struct reference g_names[] = {
    REFERENCE(malloc),
    REFERENCE(free),
    REFERENCE(calloc),
    REFERENCE(realloc),
    REFERENCE(posix_memalign),
    MEMORY(aligned_alloc),
    MEMORY(memalign),
    MEMORY(valloc),
    MEMORY(pvalloc),
    MEMORY(reallocarray),
    MEMORY(cfree),
    MEMORY(free_sized),
    MEMORY(free_aligned_sized),
    MEMORY(mallocx),
    MEMORY(rallocx),
    MEMORY(dallocx),
    MEMORY(sdallocx),
    MEMORY(mallopt),
    MEMORY(malloc_trim),
    MEMORY(malloc_info),
    MEMORY(mallinfo2),
    REFERENCE(mmap),
    REFERENCE(mmap64),
    REFERENCE(munmap),
    REFERENCE(mremap),
    REFERENCE(mprotect),
    REFERENCE(pkey_mprotect),
    COMMON(madvise),
    COMMON(brk),
    COMMON(sbrk),
    REFERENCE(dlclose),
    REFERENCE(dlopen),
    REFERENCE(dlmopen),
    REFERENCE(dlsym),
    REFERENCE(dlvsym),
    REFERENCE(pthread_create),
    REFERENCE(thrd_create),
    REFERENCE(pthread_setname_np),
    COMMON(prctl),
    COMMON(syscall),
    COMMON(chroot),
    REFERENCE(fork),
    REFERENCE(_Fork),
    REFERENCE(forkpty),
    COMMON(daemon),
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
    {"_exit", (void *)(uintptr_t)_exit, offsetof(struct real, exit_immediately), false, false},
#undef REFERENCE
#undef MEMORY
#undef COMMON
};

void reference_names_add(void)
{
    static _Atomic bool is_done;

    if (!atomic_exchange(&is_done, true))
        got_rebinding_add(g_names, sizeof(g_names) / sizeof(g_names[0]));
}
