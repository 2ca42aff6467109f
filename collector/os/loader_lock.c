/* SPDX-License-Identifier: MIT */
#include "collector/os/loader_lock.h"

#include "collector/os/module_bounds.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* libc's own: a program may define functions of these names that lock nothing. */
struct functions {
    int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    int (*try_lock)(pthread_mutex_t *);
    int (*unlock)(pthread_mutex_t *);
};

enum {
    MAX_FOUND = 8
};

struct search {
    pthread_mutex_t *found[MAX_FOUND];
    size_t n;
};

static struct functions g_libc;
static pthread_mutex_t *_Atomic g_lock;
static _Atomic int g_holder; /* the thread that has it by loader_lock_try; 0: none */

static bool is_mine(const pthread_mutex_t *mutex)
{
    return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) == (int)sys_gettid();
}

static bool is_held_once(const pthread_mutex_t *mutex, int tid)
{
    const struct __pthread_mutex_s *data = &mutex->__data;

    return __atomic_load_n(&data->__owner, __ATOMIC_RELAXED) == tid
           && __atomic_load_n(&data->__lock, __ATOMIC_RELAXED) != 0 && data->__count == 1
           && data->__kind == PTHREAD_MUTEX_RECURSIVE_NP;
}

static void search_range(struct search *search, uintptr_t start, uintptr_t end, int tid)
{
    for (uintptr_t at = start; at + sizeof(pthread_mutex_t) <= end; at += sizeof(long)) {
        pthread_mutex_t *mutex = (pthread_mutex_t *)at; /* NOLINT(performance-no-int-to-ptr) */
        if (is_held_once(mutex, tid) && search->n < MAX_FOUND)
            search->found[search->n++] = mutex;
    }
}

static void search_loader(struct search *search)
{
    const int tid = (int)sys_gettid();
    struct module_bounds loader;

    if (!module_bounds_find(_r_debug.r_ldbase, &loader))
        return;
    for (size_t i = 0; i < loader.n_headers; i++) {
        const ElfW(Phdr) *header = &loader.headers[i];
        uintptr_t at = loader.map->l_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && (header->p_flags & PF_W))
            search_range(search, (at + sizeof(long) - 1) & ~(sizeof(long) - 1),
                         at + header->p_memsz, tid);
    }
}

/* Called with the lock held; once is enough. */
static int search_inside(struct dl_phdr_info *unused, size_t size, void *context)
{
    (void)unused;
    (void)size;
    search_loader(context);
    return 1;
}

/* The mutex that is held inside the callback, and not before it. A constructor called by dlopen
 * already holds another lock of ld.so. */
static pthread_mutex_t *find_only_inside(const struct search *before, const struct search *inside)
{
    pthread_mutex_t *found = NULL;
    size_t n = 0;

    for (size_t i = 0; i < inside->n; i++) {
        bool is_new = true;
        for (size_t k = 0; k < before->n; k++)
            is_new &= before->found[k] != inside->found[i];
        if (is_new) {
            found = inside->found[i];
            n++;
        }
    }
    return n == 1 ? found : NULL;
}

static bool find_functions(struct functions *libc)
{
    *(void **)&libc->iterate = real_find_in_libc("dl_iterate_phdr");
    *(void **)&libc->try_lock = real_find_in_libc("pthread_mutex_trylock");
    *(void **)&libc->unlock = real_find_in_libc("pthread_mutex_unlock");
    return libc->iterate && libc->try_lock && libc->unlock;
}

bool loader_lock_find(void)
{
    struct search before = {.n = 0};
    struct search inside = {.n = 0};
    pthread_mutex_t *found;

    if (g_lock)
        return true;
    if (!find_functions(&g_libc))
        return false;
    search_loader(&before);
    g_libc.iterate(search_inside, &inside);
    found = find_only_inside(&before, &inside);
    if (!found || is_mine(found))
        return false;
    atomic_store(&g_lock, found);
    return true;
}

struct call {
    bool (*work)(void);
    bool result;
};

static int call_work(struct dl_phdr_info *unused, size_t size, void *context)
{
    struct call *call = context;

    (void)unused;
    (void)size;
    call->result = call->work();
    return 1;
}

bool loader_lock_call(bool (*work)(void))
{
    struct call call = {work, false};

    g_libc.iterate(call_work, &call);
    return call.result;
}

bool loader_lock_try_nested(void)
{
    pthread_mutex_t *lock = atomic_load(&g_lock);

    if (!lock || g_libc.try_lock(lock) != 0)
        return false;
    atomic_store(&g_holder, (int)sys_gettid());
    return true;
}

bool loader_lock_try(void)
{
    const pthread_mutex_t *lock = atomic_load(&g_lock);

    return lock && !is_mine(lock) && loader_lock_try_nested();
}

void loader_lock_leave(void)
{
    atomic_store(&g_holder, 0);
    g_libc.unlock(atomic_load(&g_lock));
}

static int take_unloads(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_subs;
    return 1;
}

uint64_t loader_lock_count_unloads(void)
{
    uint64_t n = 0;

    g_libc.iterate(take_unloads, &n);
    return n;
}

void loader_lock_forget(void)
{
    static const pthread_mutex_t free_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    pthread_mutex_t *lock = atomic_load(&g_lock);
    int holder = atomic_exchange(&g_holder, 0);

    if (lock && holder != 0 && lock->__data.__owner == holder)
        *lock = free_lock;
}
