/* SPDX-License-Identifier: MIT */
/*
 * interpose_new: C++'s operators new and delete, for allocators that define their own.
 *
 * libstdc++'s operators call malloc and free by name, so libmtrace.so sees them. Those of jemalloc,
 * tcmalloc and mimalloc call internal functions. For them libmtrace-new.so is preloaded:
 * libmtrace.so with this file. It records the operators of the library that defines malloc. Others
 * are only passed on, because what they call by name is recorded.
 *
 * Nothing may unwind through a recursion guard. So a throwing operator is called without a guard,
 * and only after the non-throwing one found no memory. If a new-handler is set, no guard is used at
 * all: the handler is code of the program that may allocate, throw and jump. If such a handler
 * throws, no failure is recorded.
 * If no C++ library is known, or it cannot be looked up now (operator_table.h), a block comes from
 * malloc, as with the operators that use malloc.
 */
#include "collector/events/allocator_guard.h"
#include "collector/events/record.h"
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

/* std::get_new_handler of the allocator's C++ library; NULL without one. */
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
    bool has_entered = !has_handler() && allocator_guard_enter();
    void *block = call_new_quietly(real, size, alignment);

    allocator_guard_leave(has_entered);
    if (block)
        return recorded(block, size, alignment, origin);
    record_failure(NULL, size, LOG_CALL_NEW, ENOMEM, origin);
    return NULL;
}

enum {
    NAP_NS = 1000000,
    MAX_NAPS = 1000
};

static void *create_by_malloc(size_t size, size_t alignment, const struct unwind_origin *origin)
{
    size_t wanted = size ? size : 1;
    bool has_entered = allocator_guard_enter();
    void *block = NULL;

    if (!alignment)
        block = g_real.malloc(wanted);
    else if (g_real.memalign)
        block = g_real.memalign(alignment, wanted);
    allocator_guard_leave(has_entered);
    return block ? recorded(block, size, alignment, origin) : NULL;
}

/* Waits for the lookup of the throwing operator only if there is no memory. */
static void *create_without(int kind, size_t size, size_t alignment,
                            const struct unwind_origin *origin)
{
    void *block = create_by_malloc(size, alignment, origin);
    struct operator real = {NULL, false};

    for (int n = 0; !block && !real.call; n++) {
        if (n == MAX_NAPS)
            abort(); /* no C++ library is loaded, so the exception could not be caught */
        sys_nap(NAP_NS);
        real = operator_table_get(kind, alignment ? CREATE_ALIGNED : CREATE);
    }
    return block ? block : call_new(real.call, size, alignment);
}

/* Alignment 0: the operator without alignment. NULL: no memory. */
static void *create_quietly(int kind, size_t size, size_t alignment,
                            const struct unwind_origin *origin)
{
    struct operator real;

    if (!lifecycle_is_ready())
        return real_bootstrap_allocate(alignment, size);
    real = operator_table_get(kind, alignment ? CREATE_ALIGNED_QUIETLY : CREATE_QUIETLY);
    if (real.is_allocators)
        return attempt(real.call, size, alignment, origin);
    return real.call ? call_new_quietly(real.call, size, alignment)
                     : create_by_malloc(size, alignment, origin);
}

/* Runs the new-handler until there is memory, or throws std::bad_alloc. */
static void *create(int kind, size_t size, size_t alignment, const struct unwind_origin *origin)
{
    struct operator real;
    struct operator quiet;
    void *block = NULL;

    if (!lifecycle_is_ready())
        return real_bootstrap_allocate(alignment, size);
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

/* Size and alignment: those that the slot's operator takes. */
static void destroy(int kind, enum operator_slot slot, void *block, size_t size, size_t alignment,
                    const struct unwind_origin *origin)
{
    struct operator real;
    bool has_entered;

    if (!block || real_is_bootstrap_block(block) || !lifecycle_is_ready())
        return;
    real = operator_table_get(kind, slot);
    if (real.call && !real.is_allocators) {
        call_delete(real.call, slot, block, size, alignment);
        return;
    }
    record_free(block, origin);
    has_entered = allocator_guard_enter();
    if (real.call)
        call_delete(real.call, slot, block, size, alignment);
    else
        g_real.free(block);
    allocator_guard_leave(has_entered);
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
