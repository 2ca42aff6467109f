/* SPDX-License-Identifier: MIT */
#include "collector/events/allocator_guard.h"

static struct real g_behind; /* written by allocator_guard_guard */

static inline void mute(struct thread *thread)
{
    thread->outer_guard = thread->guard;
    atomic_signal_fence(memory_order_seq_cst);
    thread->guard = THREAD_GUARD_CLOSED;
}

static inline void unmute(struct thread *thread)
{
    uint64_t guard = thread->outer_guard;

    thread->outer_guard = 0;
    atomic_signal_fence(memory_order_seq_cst);
    thread->guard = guard;
}

/* The guarded call was left by longjmp: its frame is gone (RY-2). */
MTRACE_COLD static bool is_left(struct thread *thread, uintptr_t frame)
{
    if (frame < thread->outer_frame)
        return false;
    unmute(thread);
    return true;
}

/* Runs twice for each block of a guarded allocator. */
MTRACE_INLINE bool enter(uintptr_t frame)
{
    struct thread *thread = &g_thread;

    if (mtrace_unlikely(thread->outer_guard != 0) && !is_left(thread, frame))
        return false;
    thread->outer_frame = frame;
    atomic_signal_fence(
        memory_order_seq_cst); /* also keeps the compiler from storing the two as one vector */
    mute(thread);
    return true;
}

MTRACE_INLINE void leave(bool has_entered)
{
    if (mtrace_likely(has_entered))
        unmute(&g_thread);
}

bool allocator_guard_enter(void)
{
    return enter((uintptr_t)__builtin_frame_address(0));
}

void allocator_guard_leave(bool has_entered)
{
    leave(has_entered);
}

bool allocator_guard_is_inside_slow(void)
{
    bool has_entered = !g_thread.is_muted && allocator_guard_enter();

    allocator_guard_leave(has_entered);
    return !has_entered;
}

bool allocator_guard_pause(void)
{
    bool is_inside = g_thread.outer_guard != 0;

    leave(is_inside);
    return is_inside;
}

void allocator_guard_resume(bool was_inside)
{
    if (was_inside)
        mute(&g_thread);
}

#define GUARD(result_type, name, parameters, arguments)                  \
    static result_type guard_##name parameters                           \
    {                                                                    \
        bool has_entered = enter((uintptr_t)__builtin_frame_address(0)); \
        result_type result = g_behind.name arguments;                    \
        leave(has_entered);                                              \
        return result;                                                   \
    }

#define GUARD_VOID(name, parameters, arguments)                          \
    static void guard_##name parameters                                  \
    {                                                                    \
        bool has_entered = enter((uintptr_t)__builtin_frame_address(0)); \
        g_behind.name arguments;                                         \
        leave(has_entered);                                              \
    }

GUARD(void *, malloc, (size_t size), (size))
GUARD_VOID(free, (void *block), (block))
GUARD(void *, calloc, (size_t n, size_t size), (n, size))
GUARD(void *, realloc, (void *old, size_t size), (old, size))
GUARD(int, posix_memalign, (void **ret, size_t alignment, size_t size), (ret, alignment, size))
GUARD(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
GUARD(void *, memalign, (size_t alignment, size_t size), (alignment, size))
GUARD(void *, valloc, (size_t size), (size))
GUARD(void *, pvalloc, (size_t size), (size))
GUARD_VOID(cfree, (void *block), (block))
GUARD_VOID(free_sized, (void *block, size_t size), (block, size))
GUARD_VOID(free_aligned_sized, (void *block, size_t alignment, size_t size),
           (block, alignment, size))
/* The first call of tcmalloc allocates by operator new. */
GUARD(size_t, malloc_usable_size, (void *block), (block))
GUARD(void *, mallocx, (size_t size, int flags), (size, flags))
GUARD(void *, rallocx, (void *old, size_t size, int flags), (old, size, flags))
GUARD_VOID(dallocx, (void *block, int flags), (block, flags))
GUARD_VOID(sdallocx, (void *block, size_t size, int flags), (block, size, flags))

/* A list, however the macro counts. NOLINTNEXTLINE(readability-function-cognitive-complexity) */
void allocator_guard_guard(struct real *found)
{
    g_behind = *found;
#define PUT(name)                       \
    do {                                \
        if (found->name)                \
            found->name = guard_##name; \
    } while (0)
    PUT(malloc);
    PUT(free);
    PUT(calloc);
    PUT(realloc);
    PUT(posix_memalign);
    PUT(aligned_alloc);
    PUT(memalign);
    PUT(valloc);
    PUT(pvalloc);
    PUT(cfree);
    PUT(free_sized);
    PUT(free_aligned_sized);
    PUT(malloc_usable_size);
    PUT(mallocx);
    PUT(rallocx);
    PUT(dallocx);
    PUT(sdallocx);
#undef PUT
}
