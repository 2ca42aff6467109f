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
#define REFERENCE(name)                                                                  \
    {                                                                                    \
#        name, (void *)(uintptr_t)name, offsetof(struct real, name), false, false, false \
    }
#define MEMORY(name)                                                                   \
    {                                                                                  \
#        name, (void *)(uintptr_t)name, offsetof(struct real, name), true, true, false \
    }
#define FOLLOWED(name)                                                                \
    {                                                                                 \
#        name, (void *)(uintptr_t)name, offsetof(struct real, name), true, true, true \
    }
#define COMMON(name)                                                                            \
    {                                                                                           \
#        name, (void *)(uintptr_t)mtrace_wrap_##name, offsetof(struct real, name), true, false, \
            false                                                                               \
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
    FOLLOWED(mmap),
    FOLLOWED(mmap64),
    FOLLOWED(munmap),
    FOLLOWED(mremap),
    FOLLOWED(mprotect),
    FOLLOWED(pkey_mprotect),
    COMMON(madvise),
    COMMON(brk),
    COMMON(sbrk),
    FOLLOWED(dlclose),
    FOLLOWED(dlopen),
    FOLLOWED(dlmopen),
    FOLLOWED(dlsym),
    FOLLOWED(dlvsym),
    FOLLOWED(pthread_create),
    FOLLOWED(thrd_create),
    FOLLOWED(pthread_setname_np),
    COMMON(prctl),
    COMMON(syscall),
    COMMON(chroot),
    FOLLOWED(fork),
    REFERENCE(_Fork),
    FOLLOWED(forkpty),
    COMMON(daemon),
    FOLLOWED(execv),
    FOLLOWED(execvp),
    FOLLOWED(execl),
    FOLLOWED(execle),
    FOLLOWED(execlp),
    FOLLOWED(execve),
    FOLLOWED(execvpe),
    FOLLOWED(fexecve),
    FOLLOWED(execveat),
    FOLLOWED(posix_spawn),
    FOLLOWED(posix_spawnp),
    FOLLOWED(quick_exit),
    REFERENCE(abort),
    {"_exit", (void *)(uintptr_t)_exit, offsetof(struct real, exit_immediately), false, false,
     false},
#undef REFERENCE
#undef MEMORY
#undef FOLLOWED
#undef COMMON
};

void reference_names_add(void)
{
    static _Atomic bool is_done;

    if (!atomic_exchange(&is_done, true))
        got_rebinding_add(g_names, sizeof(g_names) / sizeof(g_names[0]));
}
