/* SPDX-License-Identifier: MIT */
/*
 * interpose_new: C++'s operators new and delete, for allocators that bring their own.
 *
 * libstdc++'s call malloc and free by name, so that libmtrace.so sees what they do. Those of
 * jemalloc, tcmalloc and mimalloc call the inside of their allocator: libmtrace-new.so,
 * libmtrace.so with this file, is preloaded for them. It records the operators of the library that
 * has malloc; others are only passed on to, since what they call by name is recorded.
 *
 * Nothing may unwind through a guard. So an operator that throws is called outside of one, and only
 * when the one that does not found no memory; and with a handler for new, which is code of the
 * program that allocates, throws and jumps, no guard is put up at all. What such a handler ends by
 * throwing is not recorded as a failure.
 * Where no C++ library is known, or it cannot be asked for now (operator_table.h), a block comes from malloc, as with all that leave it to the allocator.
 */
#include "collector/events/record.h"
#include "collector/events/recursion_guard.h"
#include "collector/hooks/operator_table.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/process/lifecycle.h"
#include "collector/thread/state.h"
#include "lib/abi/attr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char g_nothrow; /* std::nothrow is an empty object: any address will do */

/* std::get_new_handler, the one that the allocator sees: NULL without a C++ library. */
operator_function get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));

static bool has_handler(void)
{
    return get_new_handler && get_new_handler();
}

/* ---- new ------------------------------------------------------------------------------------- */

static void *call_new(operator_function real, size_t size, size_t alignment)
{
    return alignment ? ((void *(*)(size_t, size_t))real)(size, alignment)
                     : ((void *(*)(size_t))real)(size);
}

static void *call_new_quietly(operator_function real, size_t size, size_t alignment)
{
    return alignment ? ((void *(*)(size_t, size_t, const void *))real)(size, alignment, &g_nothrow)
                     : ((void *(*)(size_t, const void *))real)(size, &g_nothrow);
}

static void *recorded(void *block, size_t size, size_t alignment,
                      const struct unwind_origin *origin)
{
    if (mtrace_unlikely(state_config()->zeroes_memory))
        memset(block, 0, size);
    record_alloc(block, size, LOG_CALL_NEW, alignment, origin);
    return block;
}

static void *attempt(operator_function real, size_t size, size_t alignment,
                     const struct unwind_origin *origin)
{
    bool has_entered = !has_handler() && recursion_guard_enter();
    void *block = call_new_quietly(real, size, alignment);

    recursion_guard_leave(has_entered);
    if (block)
        return recorded(block, size, alignment, origin);
    record_failure(NULL, size, LOG_CALL_NEW, ENOMEM, origin);
    return NULL;
}

enum {
    NAP_NS = 1000000,
    MOST_NAPS = 1000
};

static void *create_by_malloc(size_t size, size_t alignment, const struct unwind_origin *origin)
{
    size_t wanted = size ? size : 1;
    bool has_entered = recursion_guard_enter();
    void *block = NULL;

    if (!alignment)
        block = g_real.malloc(wanted);
    else if (g_real.memalign)
        block = g_real.memalign(alignment, wanted);
    recursion_guard_leave(has_entered);
    return block ? recorded(block, size, alignment, origin) : NULL;
}

/* Only who has no memory waits for the operator that throws. */
static void *create_without(int kind, size_t size, size_t alignment,
                            const struct unwind_origin *origin)
{
    void *block = create_by_malloc(size, alignment, origin);
    struct operator real = {NULL, false};

    for (int n = 0; !block && !real.call; n++) {
        if (n == MOST_NAPS)
            abort(); /* no C++ library is loaded: nobody could catch anything */
        sys_nap(NAP_NS);
        real = operator_table_get(kind, alignment ? CREATE_ALIGNED : CREATE);
    }
    return block ? block : call_new(real.call, size, alignment);
}

/* Alignment 0: the operator without. NULL: no memory. */
static void *create_quietly(int kind, size_t size, size_t alignment,
                            const struct unwind_origin *origin)
{
    struct operator real;

    if (!lifecycle_is_ready())
        return real_early_allocate(alignment, size);
    real = operator_table_get(kind, alignment ? CREATE_ALIGNED_QUIETLY : CREATE_QUIETLY);
    if (real.is_allocators)
        return attempt(real.call, size, alignment, origin);
    return real.call ? call_new_quietly(real.call, size, alignment)
                     : create_by_malloc(size, alignment, origin);
}

/* Runs the handler for new and throws std::bad_alloc, or finds memory. */
static void *create(int kind, size_t size, size_t alignment, const struct unwind_origin *origin)
{
    struct operator real;
    struct operator quiet;
    void *block = NULL;

    if (!lifecycle_is_ready())
        return real_early_allocate(alignment, size);
    real = operator_table_get(kind, alignment ? CREATE_ALIGNED : CREATE);
    if (!real.call)
        return create_without(kind, size, alignment, origin);
    if (!real.is_allocators)
        return call_new(real.call, size, alignment);
    quiet = operator_table_get(kind, alignment ? CREATE_ALIGNED_QUIETLY : CREATE_QUIETLY);
    if (mtrace_likely(quiet.is_allocators) && !has_handler())
        block = attempt(quiet.call, size, alignment, origin);
    if (mtrace_likely(block != NULL))
        return block;
    block = call_new(real.call, size, alignment);
    return block ? recorded(block, size, alignment, origin) : NULL;
}

/* ---- delete ---------------------------------------------------------------------------------- */

static void call_delete(operator_function real, enum operator_slot slot, void *block, size_t size,
                        size_t alignment)
{
    switch (slot) {
    case DESTROY_SIZED:
        ((void (*)(void *, size_t))real)(block, size);
        break;
    case DESTROY_QUIETLY:
        ((void (*)(void *, const void *))real)(block, &g_nothrow);
        break;
    case DESTROY_ALIGNED:
        ((void (*)(void *, size_t))real)(block, alignment);
        break;
    case DESTROY_SIZED_ALIGNED:
        ((void (*)(void *, size_t, size_t))real)(block, size, alignment);
        break;
    case DESTROY_ALIGNED_QUIETLY:
        ((void (*)(void *, size_t, const void *))real)(block, alignment, &g_nothrow);
        break;
    default:
        ((void (*)(void *))real)(block);
    }
}

/* Size and alignment: those that the operator of the slot has. */
static void destroy(int kind, enum operator_slot slot, void *block, size_t size, size_t alignment,
                    const struct unwind_origin *origin)
{
    struct operator real;
    bool has_entered;

    if (!block || real_is_early_block(block) || !lifecycle_is_ready())
        return;
    real = operator_table_get(kind, slot);
    if (real.call && !real.is_allocators) {
        call_delete(real.call, slot, block, size, alignment);
        return;
    }
    record_free(block, origin);
    has_entered = recursion_guard_enter();
    if (real.call)
        call_delete(real.call, slot, block, size, alignment);
    else
        g_real.free(block);
    recursion_guard_leave(has_entered);
}

/* ---- what the program calls ------------------------------------------------------------------ */

/* One operator: its name, parameters, and what it does with them. */
#define OPERATOR(result_type, name, parameters, ...)         \
    result_type name parameters;                             \
    MTRACE_EXPORT result_type name parameters                \
    {                                                        \
        const struct unwind_origin origin = RECORD_ORIGIN(); \
        __VA_ARGS__;                                         \
    }

#define DEFINE_CREATE(kind, name) \
    OPERATOR(void *, name, (size_t size), return create(kind, size, 0, &origin))
#define DEFINE_CREATE_QUIETLY(kind, name)                                     \
    OPERATOR(void *, name, (size_t size, const void *nothrow), (void)nothrow; \
             return create_quietly(kind, size, 0, &origin))
#define DEFINE_CREATE_ALIGNED(kind, name)                   \
    OPERATOR(void *, name, (size_t size, size_t alignment), \
             return create(kind, size, alignment, &origin))
#define DEFINE_CREATE_ALIGNED_QUIETLY(kind, name)                                               \
    OPERATOR(void *, name, (size_t size, size_t alignment, const void *nothrow), (void)nothrow; \
             return create_quietly(kind, size, alignment, &origin))
#define DEFINE_DESTROY(kind, name) \
    OPERATOR(void, name, (void *block), destroy(kind, DESTROY, block, 0, 0, &origin))
#define DEFINE_DESTROY_SIZED(kind, name)             \
    OPERATOR(void, name, (void *block, size_t size), \
             destroy(kind, DESTROY_SIZED, block, size, 0, &origin))
#define DEFINE_DESTROY_QUIETLY(kind, name)                                  \
    OPERATOR(void, name, (void *block, const void *nothrow), (void)nothrow; \
             destroy(kind, DESTROY_QUIETLY, block, 0, 0, &origin))
#define DEFINE_DESTROY_ALIGNED(kind, name)                \
    OPERATOR(void, name, (void *block, size_t alignment), \
             destroy(kind, DESTROY_ALIGNED, block, 0, alignment, &origin))
#define DEFINE_DESTROY_SIZED_ALIGNED(kind, name)                       \
    OPERATOR(void, name, (void *block, size_t size, size_t alignment), \
             destroy(kind, DESTROY_SIZED_ALIGNED, block, size, alignment, &origin))
#define DEFINE_DESTROY_ALIGNED_QUIETLY(kind, name)                                            \
    OPERATOR(void, name, (void *block, size_t alignment, const void *nothrow), (void)nothrow; \
             destroy(kind, DESTROY_ALIGNED_QUIETLY, block, 0, alignment, &origin))

#define DEFINE(kind, slot, name) DEFINE_##slot(kind, name)
OPERATOR_NAMES(DEFINE)
