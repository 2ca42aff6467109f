/* SPDX-License-Identifier: MIT */
/*
 * Parts of used stacks become unreadable while deeper frames allocate: of the thread's own stack,
 * of another thread's and of a coroutine's. Stacks that do not need those parts are complete;
 * afterwards all of them are. Threads with guard zones below their stack pointer move these all the
 * time.
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
    PAGE_BYTES = 4096,
    ARRAY_BYTES = 128 * 1024, /* of a frame, in which holes are */
    FAR_BYTES = 64 * 1024,    /* between the innermost frames and those with holes */
    STACK_BYTES = 1024 * 1024,
    N_BLOCKS = 20,
    N_FRAMES = 40,
    GUARD_BYTES = 4 * PAGE_BYTES,
    N_GUARDS = 200,
    N_CHANGES = 20,
};

enum phase {
    BEFORE = 1,
    DURING, /* the hole is inside of a frame: its words are not needed */
    AFTER,
    IN_FRAMES, /* the hole has frames in it */
    AFTER_FRAMES,
    ABOVE_GUARD,
    IN_GUARD,
    N_PHASES
};

#ifndef MREMAP_DONTUNMAP
#    define MREMAP_DONTUNMAP 4
#endif

struct hole {
    char *low;
    size_t n_bytes;
    char *copy;
};

static unsigned long long through_outer[N_PHASES];
static const int readable = PROT_READ | PROT_WRITE;

/* ---- ways to make a hole, and to fill it again. They return false where it is impossible. ---- */

static void *map(void *at, size_t n_bytes, int protection)
{
    return mmap(at, n_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

static bool protect(struct hole *hole)
{
    return mprotect(hole->low, hole->n_bytes, PROT_NONE) == 0;
}

static void unprotect(struct hole *hole)
{
    mprotect(hole->low, hole->n_bytes, readable);
}

static bool protect_by_key(struct hole *hole)
{
    return pkey_mprotect(hole->low, hole->n_bytes, PROT_NONE, -1) == 0;
}

static void unprotect_by_key(struct hole *hole)
{
    pkey_mprotect(hole->low, hole->n_bytes, readable, -1);
}

static bool copy_away(struct hole *hole)
{
    hole->copy = map(NULL, hole->n_bytes, readable);
    if (hole->copy == MAP_FAILED)
        return false;
    memcpy(hole->copy, hole->low, hole->n_bytes);
    return true;
}

static void copy_back(struct hole *hole)
{
    if (map(hole->low, hole->n_bytes, readable) == MAP_FAILED)
        abort();
    memcpy(hole->low, hole->copy, hole->n_bytes);
    munmap(hole->copy, hole->n_bytes);
}

static bool unmap(struct hole *hole)
{
    return copy_away(hole) && munmap(hole->low, hole->n_bytes) == 0;
}

static bool replace(struct hole *hole)
{
    return copy_away(hole) && map(hole->low, hole->n_bytes, PROT_NONE) != MAP_FAILED;
}

/* Each page is behind its end, so an access is a bus error. */
static bool replace_by_empty_file(struct hole *hole)
{
    const int fd = memfd_create("empty", 0);
    void *mapped = MAP_FAILED;

    if (fd >= 0 && copy_away(hole))
        mapped = mmap(hole->low, hole->n_bytes, readable, MAP_SHARED | MAP_FIXED, fd, 0);
    close(fd);
    return mapped != MAP_FAILED;
}

static bool guard(struct hole *hole)
{
    enum {
        MADV_GUARD_INSTALL_HERE = 102 /* Linux 6.13 */
    };

    return copy_away(hole) && madvise(hole->low, hole->n_bytes, MADV_GUARD_INSTALL_HERE) == 0;
}

static void unguard(struct hole *hole)
{
    enum {
        MADV_GUARD_REMOVE_HERE = 103
    };

    madvise(hole->low, hole->n_bytes, MADV_GUARD_REMOVE_HERE);
    memcpy(hole->low, hole->copy, hole->n_bytes);
    munmap(hole->copy, hole->n_bytes);
}

static bool move(struct hole *hole)
{
    void *wanted = map(NULL, hole->n_bytes, readable);

    hole->copy =
        mremap(hole->low, hole->n_bytes, hole->n_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, wanted);
    return hole->copy != MAP_FAILED;
}

/* The rest of the mapping is readable, and empty. */
static bool move_contents(struct hole *hole)
{
    hole->copy =
        mremap(hole->low, hole->n_bytes, hole->n_bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
    return hole->copy != MAP_FAILED;
}

static void move_back(struct hole *hole)
{
    if (mremap(hole->copy, hole->n_bytes, hole->n_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, hole->low)
        != hole->low)
        abort();
}

static const struct way {
    bool (*make)(struct hole *);
    void (*fill)(struct hole *);
} ways[] = {{protect, unprotect}, {protect_by_key, unprotect_by_key}, {unmap, copy_back},
            {replace, copy_back}, {replace_by_empty_file, copy_back}, {guard, unguard},
            {move, move_back},    {move_contents, move_back}};

enum {
    N_WAYS = sizeof(ways) / sizeof(ways[0])
};

/* ---- the thread that makes it ---- */

static const struct way *way;
static bool (*make)(struct hole *);
static void (*fill)(struct hole *);

static bool make_by_self(struct hole *hole)
{
    return way->make(hole);
}

static void fill_by_self(struct hole *hole)
{
    way->fill(hole);
}

static struct hole *wanted;
static bool is_to_fill, has_made, is_over;
static sem_t wants, has;

static void *other_thread(void *unused)
{
    (void)unused;
    for (;;) {
        sem_wait(&wants);
        if (is_over)
            return NULL;
        if (is_to_fill)
            way->fill(wanted);
        else
            has_made = way->make(wanted);
        sem_post(&has);
    }
}

static bool ask_other(struct hole *hole, bool fills)
{
    wanted = hole;
    is_to_fill = fills;
    sem_post(&wants);
    sem_wait(&has);
    return has_made;
}

static bool make_by_other(struct hole *hole)
{
    return ask_other(hole, false);
}

static void fill_by_other(struct hole *hole)
{
    ask_other(hole, true);
}

static ucontext_t main_context, coroutine_context;

/* Suspended, because the thread that makes the hole runs another coroutine. */
static bool make_by_caller(struct hole *hole)
{
    wanted = hole;
    is_to_fill = false;
    swapcontext(&coroutine_context, &main_context);
    return has_made;
}

static void fill_by_caller(struct hole *hole)
{
    wanted = hole;
    is_to_fill = true;
    swapcontext(&coroutine_context, &main_context);
}

/* ---- without waiting for each other ---- */

static struct hole contested;
static bool is_contested;

static bool offer(struct hole *hole)
{
    contested = *hole;
    __atomic_store_n(&is_contested, true, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&is_contested, __ATOMIC_SEQ_CST))
        free(keep(malloc(PAGE_BYTES))); /* as often as there is time, so not counted */
    return false;
}

static void *contend(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&is_contested, __ATOMIC_SEQ_CST))
        sched_yield();
    for (int i = 0; i < N_CHANGES; i++) {
        protect(&contested);
        sched_yield();
        unprotect(&contested);
        sched_yield();
    }
    __atomic_store_n(&is_contested, false, __ATOMIC_SEQ_CST);
    return NULL;
}

/* ---- stacks ---- */

__attribute__((noinline)) static void allocate(enum phase phase)
{
    for (int i = 0; i < N_BLOCKS; i++)
        own_free(own_malloc(phase), phase);
    __atomic_fetch_add(&through_outer[phase], N_BLOCKS, __ATOMIC_RELAXED);
}

static struct hole hole_between(const char *low, const char *high)
{
    const uintptr_t first = ((uintptr_t)low + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    const uintptr_t end = (uintptr_t)high / PAGE_BYTES * PAGE_BYTES;

    return (struct hole){.low = (char *)first, .n_bytes = end - first};
}

__attribute__((noinline)) static void allocate_around(struct hole hole, enum phase during,
                                                      enum phase after)
{
    char far[FAR_BYTES];

    keep(memset(far, 1, sizeof(far)));
    allocate(BEFORE);
    if (make(&hole)) {
        allocate(during);
        fill(&hole);
    }
    allocate(after);
    keep(far);
}

__attribute__((noinline)) static void descend(unsigned n, const char *high)
{
    char far[FAR_BYTES / N_FRAMES];

    keep(memset(far, 1, sizeof(far)));
    if (n > 0)
        descend(n - 1, high);
    else
        allocate_around(hole_between(far + sizeof(far), high), IN_FRAMES, AFTER_FRAMES);
    keep(far);
}

/* A guard zone is taken away for a while, as a virtual machine does at the end of its stack. */
__attribute__((noinline)) static void cross(unsigned depth)
{
    char far[PAGE_BYTES];

    keep(memset(far, 1, sizeof(far)));
    if (depth > 0)
        cross(depth - 1);
    else
        allocate(IN_GUARD);
    keep(far);
}

__attribute__((noinline)) static void move_guard(void)
{
    char *const here = __builtin_frame_address(0);
    struct hole guard = hole_between(here - 10 * GUARD_BYTES, here - 9 * GUARD_BYTES);

    for (int i = 0; i < N_GUARDS; i++) {
        if (mprotect(guard.low, guard.n_bytes, PROT_NONE) != 0)
            abort();
        allocate(ABOVE_GUARD);
        mprotect(guard.low, guard.n_bytes, readable);
        if (i % 10 == 0)
            cross(12 * GUARD_BYTES / PAGE_BYTES);
    }
}

__attribute__((noinline)) static void outer(void)
{
    char array[ARRAY_BYTES];
    char *volatile shown = keep(memset(array, 1, sizeof(array)));

    if (make == offer) {
        descend(N_FRAMES, shown);
        keep(array);
        return;
    }
    for (unsigned i = 0; i < N_WAYS; i++) {
        way = &ways[i];
        allocate_around(hole_between(shown, shown + sizeof(array)), DURING, AFTER);
        descend(N_FRAMES, shown);
    }
    cross(12 * GUARD_BYTES / PAGE_BYTES);
    move_guard();
    keep(array);
}

static void *thread(void *unused)
{
    (void)unused;
    outer();
    return NULL;
}

static void run_in_thread(void)
{
    pthread_t id;

    if (pthread_create(&id, NULL, thread, NULL) != 0)
        abort();
    pthread_join(id, NULL);
}

static void run_with_other(void (*run)(void))
{
    pthread_t id;

    if (pthread_create(&id, NULL, other_thread, NULL) != 0)
        abort();
    make = make_by_other;
    fill = fill_by_other;
    is_over = false;
    run();
    is_over = true;
    sem_post(&wants);
    pthread_join(id, NULL);
}

static void run_contended(void (*run)(void))
{
    pthread_t id;

    if (pthread_create(&id, NULL, contend, NULL) != 0)
        abort();
    make = offer;
    run();
    pthread_join(id, NULL);
}

static void run_in_coroutine(void)
{
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = map(NULL, STACK_BYTES, readable);
    coroutine_context.uc_stack.ss_size = STACK_BYTES;
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, outer, 0);
    for (;;) {
        wanted = NULL;
        swapcontext(&main_context, &coroutine_context);
        if (wanted == NULL)
            break;
        if (is_to_fill)
            way->fill(wanted);
        else
            has_made = way->make(wanted);
    }
    munmap(coroutine_context.uc_stack.ss_sp, STACK_BYTES);
}

int main(void)
{
    sem_init(&wants, 0, 0);
    sem_init(&has, 0, 0);
    make = make_by_self;
    fill = fill_by_self;
    outer();
    run_in_thread();
    run_in_coroutine();
    run_with_other(outer);
    run_with_other(run_in_thread);
    make = make_by_caller;
    fill = fill_by_caller;
    run_in_coroutine();
    run_contended(outer);
    run_contended(run_in_thread);
    for (enum phase phase = BEFORE; phase < N_PHASES; phase++) {
        if (phase == IN_FRAMES)
            continue;
        char name[] = "through_outer.0";
        name[sizeof(name) - 2] = (char)('0' + phase);
        expect(name, through_outer[phase]);
    }
    expect_own();
    return 0;
}
