/* SPDX-License-Identifier: MIT */
/*
 * real: the functions that the wrappers replace, i.e. the next definitions in load order.
 *
 * The collector walks the link map itself, because dlsym allocates, locks and changes dlerror. The
 * search begins after the collector's library, as RTLD_NEXT does, so the program's jemalloc or
 * tcmalloc stays its allocator.
 *
 *   RE-1 After real_init every member that some object defines is set, the others are NULL.
 *   RE-2 While real_is_bootstrap, this library is not relocated yet (an IFUNC resolver of another
 *        object allocates). Only real_bootstrap_* may run then. Their blocks come from a static
 *        array and are never passed to a real function.
 *
 * Constant after real_init. Async-signal-safe.
 */
#ifndef MTRACE_COLLECTOR_REAL_H
#define MTRACE_COLLECTOR_REAL_H

#include "collector/os/operator_names.h"
#include "lib/abi/attr.h"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <pty.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <threads.h>

struct real {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void (*cfree)(void *);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
    size_t (*malloc_usable_size)(void *);

    void *(*mallocx)(size_t, int);
    void *(*rallocx)(void *, size_t, int);
    void (*dallocx)(void *, int);
    void (*sdallocx)(void *, size_t, int);

    int (*mallopt)(int, int);
    int (*malloc_trim)(size_t);
    int (*malloc_info)(int, FILE *);
    struct mallinfo2 (*mallinfo2)(void);

    void *(*mmap)(void *, size_t, int, int, int, off_t);
    void *(*mmap64)(void *, size_t, int, int, int, off64_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
    int (*mprotect)(void *, size_t, int);
    int (*pkey_mprotect)(void *, size_t, int, int);
    int (*madvise)(void *, size_t, int);
    int (*brk)(void *);
    void *(*sbrk)(intptr_t);

    int (*dlclose)(void *);
    void *(*dlopen)(const char *, int);
    void *(*dlmopen)(Lmid_t, const char *, int);
    void *(*dlsym)(void *, const char *);
    void *(*dlvsym)(void *, const char *, const char *);

    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*thrd_create)(thrd_t *, thrd_start_t, void *);
    int (*pthread_setname_np)(pthread_t, const char *);
    int (*prctl)(int, ...);
    long (*syscall)(long, ...);
    int (*chroot)(const char *);

    pid_t (*fork)(void);
    pid_t (*_Fork)(void);
    int (*forkpty)(int *, char *, const struct termios *, const struct winsize *);
    int (*daemon)(int, int);
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const[], char *const[]);
    void (*exit_immediately)(int); /* _exit */
    void (*quick_exit)(int);
    void (*abort)(void);

    /* Only where they stand (real_behind): ours call another one. */
    int (*execv)(const char *, char *const[]);
    int (*execvp)(const char *, char *const[]);
    int (*execl)(const char *, const char *, ...);
    int (*execle)(const char *, const char *, ...);
    int (*execlp)(const char *, const char *, ...);

    /* and C++'s operators, of an allocator's library whose operators call no malloc by name; else
     * NULL */
    struct {
#define OPERATOR(kind, slot, name) void (*(name))(void);
        OPERATOR_NAMES(OPERATOR)
#undef OPERATOR
    } operators;
};

extern MTRACE_HIDDEN struct real g_real;

/*
 * Fills g_real. False when not even malloc is there. `adapt` (or NULL) may exchange members before
 * anyone uses them; it is called when the allocator is not glibc's.
 */
bool real_init(void (*adapt)(struct real *found));

/* Before real_init, in a program that ran before: no library precedes ours, so the program's
 * references lead to the first definitions of all. */
void real_search_all(void);

/* Where references to a member of struct real, at that offset, lead without us; NULL: nowhere. Not
 * what `adapt` put there. */
void *real_behind(size_t offset);

/* That function is libc's. */
bool real_is_libcs(size_t offset);

/* The next definition of any name behind this object, NULL if there is none. While no other thread
 * loads or unloads: at the start. */
void *real_find(const char *name);

/* The first definition of all, but ours, with ld.so's list of modules locked. */
void *real_find_first(const char *name);

/* As real_find, with ld.so's list of modules locked (loader_lock.h), among modules that are
 * accepted. */
void *real_find_if(const char *name, bool (*is_accepted)(const struct link_map *map));

/*
 * libc's own function, NULL if there is none. Also before real_init, and in any thread: libc and
 * all objects before it in the list stay loaded. The collector calls a libc function only so, or by
 * a name that ISO C reserves: any other name binds to a function of the program that has it.
 */
void *real_find_in_libc(const char *name);

/* libc's `environ`, wherever it is: an executable may have a copy of it, or something else of this
 * name. Never NULL. */
char ***real_environ(void);

/* As real_find, in the library whose malloc is g_real.malloc only; NULL: not there. That may be a
 * collector's library that the program was started with, which calls the allocator: its operators
 * are then those that call no malloc by name. */
void *real_find_beside_malloc(const char *name);

/* The real malloc is glibc's own: chunk headers can be read. */
bool real_is_glibc_malloc(void);

/* operator new of a C++ program is the allocator's own and does not arrive at our wrapper. */
bool real_is_new_foreign(void);

/* There are operators in struct real. */
bool real_has_operators(void);

/* Calls of `malloc` by the program arrive at our wrapper. */
bool real_is_malloc_ours(void);

/* Path of this library as ld.so knows it. */
const char *real_own_path(void);

/* Address of a function of the vdso, NULL if there is none. */
void *real_find_in_vdso(const char *name);

bool real_is_bootstrap(void);
void *real_bootstrap_allocate(size_t alignment, size_t size_bytes);
void *real_bootstrap_reallocate(void *block, size_t size_bytes);
bool real_has_bootstrap_blocks(void); /* whether there ever was one */

enum {
    REAL_BOOTSTRAP_BYTES = 32768
};

extern MTRACE_HIDDEN unsigned char g_real_bootstrap[REAL_BOOTSTRAP_BYTES];

static inline bool real_is_bootstrap_block(const void *block)
{
    return (uintptr_t)block - (uintptr_t)g_real_bootstrap < REAL_BOOTSTRAP_BYTES;
}

#endif
