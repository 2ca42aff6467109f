/* SPDX-License-Identifier: MIT */
/*
 * interpose_new: C++'s operators new and delete, for allocators that bring their own.
 *
 * libstdc++'s call malloc and free by name, so that libmtrace.so sees what they do. Those of
 * jemalloc, tcmalloc and mimalloc call the inside of their allocator: libmtrace-new.so,
 * libmtrace.so with this file, is preloaded for them. It works for any other operators as well:
 * what one calls by name runs inside a guard and is not recorded once more.
 *
 * The operator that throws is called outside of the guard, and only when the one that does not
 * found no memory: nothing may unwind through a guard.
 *
 * Names: Itanium C++ ABI 5.1.5, mangled; [0] is the single object, [1] the array.
 */
#include "collector/lifecycle.h"
#include "collector/real.h"
#include "collector/record.h"
#include "collector/reentry.h"
#include "common/attr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum slot {
    CREATE,
    CREATE_QUIETLY,
    CREATE_ALIGNED,
    CREATE_ALIGNED_QUIETLY,
    DESTROY,
    DESTROY_SIZED,
    DESTROY_QUIETLY,
    DESTROY_ALIGNED,
    DESTROY_SIZED_ALIGNED,
    DESTROY_ALIGNED_QUIETLY,
    N_SLOTS,
};

static const char *const g_names[2][N_SLOTS] = {
    {"_Znwm", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
     "_ZdlPv", "_ZdlPvm", "_ZdlPvRKSt9nothrow_t", "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t",
     "_ZdlPvSt11align_val_tRKSt9nothrow_t"},
    {"_Znam", "_ZnamRKSt9nothrow_t", "_ZnamSt11align_val_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
     "_ZdaPv", "_ZdaPvm", "_ZdaPvRKSt9nothrow_t", "_ZdaPvSt11align_val_t", "_ZdaPvmSt11align_val_t",
     "_ZdaPvSt11align_val_tRKSt9nothrow_t"},
};

typedef void (*function)(void); /* of any type */

static function g_found[2][N_SLOTS];
static const char g_nothrow; /* std::nothrow is an empty object: any address will do */

static function find(int kind, enum slot slot)
{
    void *address = real_find(g_names[kind][slot]);
    function found;

    memcpy(&found, &address, sizeof(found));
    return found;
}

/* What is there at the start is never unloaded; what comes later is looked for at each call. */
__attribute__((constructor)) static void find_all(void)
{
    for (int kind = 0; kind < 2; kind++)
        for (enum slot slot = 0; slot < N_SLOTS; slot++)
            g_found[kind][slot] = find(kind, slot);
}

static function get(int kind, enum slot slot)
{
    return mtrace_likely(g_found[kind][slot] != NULL) ? g_found[kind][slot] : find(kind, slot);
}

/* ---- new ------------------------------------------------------------------------------------- */

static void *recorded(void *block, size_t size, size_t alignment,
                      const struct unwind_origin *origin)
{
    if (mtrace_unlikely(lifecycle_config()->zeroes_memory))
        memset(block, 0, size);
    record_alloc(block, size, LOG_CALL_NEW, alignment, origin);
    return block;
}

/* Alignment 0: the operator without. NULL: no memory. */
static void *create_quietly(int kind, size_t size, size_t alignment,
                            const struct unwind_origin *origin)
{
    function real;
    bool has_entered;
    void *block = NULL;

    if (!lifecycle_is_ready_for_calls())
        return real_early_allocate(alignment, size);
    real = get(kind, alignment ? CREATE_ALIGNED_QUIETLY : CREATE_QUIETLY);
    has_entered = reentry_enter();
    if (real && alignment)
        block = ((void *(*)(size_t, size_t, const void *))real)(size, alignment, &g_nothrow);
    else if (real)
        block = ((void *(*)(size_t, const void *))real)(size, &g_nothrow);
    reentry_leave(has_entered);
    if (block)
        return recorded(block, size, alignment, origin);
    record_failure(NULL, size, LOG_CALL_NEW, ENOMEM, origin);
    return NULL;
}

/* Runs the handler for new and throws std::bad_alloc, or has found memory after all. */
static void *create(int kind, size_t size, size_t alignment, const struct unwind_origin *origin)
{
    void *block = create_quietly(kind, size, alignment, origin);
    function real;

    if (mtrace_likely(block != NULL))
        return block;
    real = get(kind, alignment ? CREATE_ALIGNED : CREATE);
    if (!real)
        abort(); /* no C++ library is loaded: nobody could catch anything */
    block = alignment ? ((void *(*)(size_t, size_t))real)(size, alignment)
                      : ((void *(*)(size_t))real)(size);
    return block ? recorded(block, size, alignment, origin) : NULL;
}

/* ---- delete ---------------------------------------------------------------------------------- */

/* Size or alignment 0: the operator without. The quiet ones differ for constructors that throw. */
static void destroy(int kind, void *block, size_t size, size_t alignment,
                    const struct unwind_origin *origin)
{
    function real;
    bool has_entered;

    if (!block || real_is_early_block(block) || !lifecycle_is_ready_for_calls())
        return;
    record_free(block, origin);
    real = get(kind, size && alignment ? DESTROY_SIZED_ALIGNED
                     : size            ? DESTROY_SIZED
                     : alignment       ? DESTROY_ALIGNED
                                       : DESTROY);
    has_entered = reentry_enter();
    if (!real)
        g_real.free(block);
    else if (size && alignment)
        ((void (*)(void *, size_t, size_t))real)(block, size, alignment);
    else if (size || alignment)
        ((void (*)(void *, size_t))real)(block, size ? size : alignment);
    else
        ((void (*)(void *))real)(block);
    reentry_leave(has_entered);
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

OPERATOR(void *, _Znwm, (size_t size), return create(0, size, 0, &origin))
OPERATOR(void *, _ZnwmRKSt9nothrow_t, (size_t size, const void *nothrow), (void)nothrow;
         return create_quietly(0, size, 0, &origin))
OPERATOR(void *, _ZnwmSt11align_val_t, (size_t size, size_t alignment),
         return create(0, size, alignment, &origin))
OPERATOR(void *, _ZnwmSt11align_val_tRKSt9nothrow_t,
         (size_t size, size_t alignment, const void *nothrow), (void)nothrow;
         return create_quietly(0, size, alignment, &origin))
OPERATOR(void, _ZdlPv, (void *block), destroy(0, block, 0, 0, &origin))
OPERATOR(void, _ZdlPvm, (void *block, size_t size), destroy(0, block, size, 0, &origin))
OPERATOR(void, _ZdlPvRKSt9nothrow_t, (void *block, const void *nothrow), (void)nothrow;
         destroy(0, block, 0, 0, &origin))
OPERATOR(void, _ZdlPvSt11align_val_t, (void *block, size_t alignment),
         destroy(0, block, 0, alignment, &origin))
OPERATOR(void, _ZdlPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
         destroy(0, block, size, alignment, &origin))
OPERATOR(void, _ZdlPvSt11align_val_tRKSt9nothrow_t,
         (void *block, size_t alignment, const void *nothrow), (void)nothrow;
         destroy(0, block, 0, alignment, &origin))
OPERATOR(void *, _Znam, (size_t size), return create(1, size, 0, &origin))
OPERATOR(void *, _ZnamRKSt9nothrow_t, (size_t size, const void *nothrow), (void)nothrow;
         return create_quietly(1, size, 0, &origin))
OPERATOR(void *, _ZnamSt11align_val_t, (size_t size, size_t alignment),
         return create(1, size, alignment, &origin))
OPERATOR(void *, _ZnamSt11align_val_tRKSt9nothrow_t,
         (size_t size, size_t alignment, const void *nothrow), (void)nothrow;
         return create_quietly(1, size, alignment, &origin))
OPERATOR(void, _ZdaPv, (void *block), destroy(1, block, 0, 0, &origin))
OPERATOR(void, _ZdaPvm, (void *block, size_t size), destroy(1, block, size, 0, &origin))
OPERATOR(void, _ZdaPvRKSt9nothrow_t, (void *block, const void *nothrow), (void)nothrow;
         destroy(1, block, 0, 0, &origin))
OPERATOR(void, _ZdaPvSt11align_val_t, (void *block, size_t alignment),
         destroy(1, block, 0, alignment, &origin))
OPERATOR(void, _ZdaPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
         destroy(1, block, size, alignment, &origin))
OPERATOR(void, _ZdaPvSt11align_val_tRKSt9nothrow_t,
         (void *block, size_t alignment, const void *nothrow), (void)nothrow;
         destroy(1, block, 0, alignment, &origin))
