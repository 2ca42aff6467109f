/* SPDX-License-Identifier: MIT */
/*
 * interpose_malloc: the allocator's functions as the program calls them.
 *
 * Each does what the real function does, including result and errno, and records it. A free is
 * recorded before the real call, an allocation after it.
 */
#include "collector/arch/arch.h"
#include "collector/events/record.h"
#include "collector/log/modules.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/process/lifecycle.h"
#include "collector/process/loading.h"
#include "collector/thread/state.h"
#include "lib/abi/attr.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Records the result of an allocation that record_selects_alloc selected. NULL: it failed. */
static inline void record_result(const void *block, size_t size, enum log_call call,
                                 size_t alignment, const struct unwind_origin *origin)
{
    if (mtrace_likely(block != NULL))
        record_selected_alloc(block, size, call, alignment, origin);
    else
        record_failure(NULL, size, call, errno, origin);
}

/* The same for a block that was counted before the real call. */
static inline void record_counted_result(const void *block, size_t size, enum log_call call,
                                         bool is_drawn, const struct unwind_origin *origin)
{
    if (mtrace_unlikely(!block) && !is_drawn)
        sampler_uncount(size);
    record_result(block, size, call, 0, origin);
}

static inline void *record_if_selected(void *block, size_t size, enum log_call call,
                                       size_t alignment, const struct unwind_origin *origin)
{
    if (mtrace_unlikely(!block) || record_selects_alloc(size))
        record_result(block, size, call, alignment, origin);
    return block;
}

static inline void *real_malloc(size_t size)
{
    return mtrace_unlikely(state_config()->zeroes_memory) ? g_real.calloc(1, size)
                                                          : g_real.malloc(size);
}

/*
 * With sampling most calls only count bytes or test a table. The entries of malloc, calloc, free
 * and realloc do that, keep nothing on the stack, and jump to a function that does more: *_counted
 * when a sample is due, *_recorded without sampling, *_checked on the slow path. That function
 * determines the caller.
 */

/* ---- malloc ---- */

MTRACE_INLINE void *malloc_decided(size_t size, bool is_drawn)
{
    void *block = real_malloc(size);

    if (mtrace_unlikely(!block) || is_drawn) {
        const struct unwind_origin origin = RECORD_ORIGIN();
        record_counted_result(block, size, LOG_CALL_MALLOC, is_drawn, &origin);
    }
    return block;
}

MTRACE_JUMPED_TO void *malloc_checked(size_t size)
{
    if (!lifecycle_is_ready())
        return real_bootstrap_allocate(0, size);
    return malloc_decided(size, record_selects_alloc(size));
}

MTRACE_JUMPED_TO void *malloc_counted(size_t size)
{
    return malloc_decided(size, record_draw_slow(size));
}

MTRACE_JUMPED_TO void *malloc_recorded(size_t size)
{
    void *block;

    if (!record_has_all())
        return malloc_checked(size);
    block = g_real.malloc(size);
    {
        const struct unwind_origin origin = RECORD_ORIGIN();
        record_result(block, size, LOG_CALL_MALLOC, 0, &origin);
    }
    return block;
}

MTRACE_JUMPED_TO void *malloc_failed(size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    record_counted_result(NULL, size, LOG_CALL_MALLOC, false, &origin);
    return NULL;
}

MTRACE_EXPORT void *malloc(size_t size)
{
    void *block;

    if (!record_counts_only())
        return malloc_recorded(size);
    if (sampler_count(size))
        return malloc_counted(size);
    block = g_real.malloc(size);
    return mtrace_likely(block != NULL) ? block : malloc_failed(size);
}

/* ---- free ---- */

MTRACE_JUMPED_TO void free_checked(void *block)
{
    if (!block || real_is_bootstrap_block(block) || !lifecycle_is_ready())
        return;
    if (record_selects_free(block)) {
        const struct unwind_origin origin = RECORD_ORIGIN();
        record_selected_free(block, &origin);
    }
    g_real.free(block);
}

MTRACE_JUMPED_TO void free_recorded(void *block)
{
    /* Loads the allocator's words before the block while the stack is walked; a prefetch never
     * faults. */
    __builtin_prefetch((const char *)block - 2 * sizeof(size_t), 1);
    if (mtrace_unlikely(!block || !record_has_all())) {
        free_checked(block);
        return;
    }
    {
        const struct unwind_origin origin = RECORD_ORIGIN();
        record_selected_free(block, &origin);
    }
    g_real.free(block);
}

MTRACE_EXPORT void free(void *block)
{
    if (!record_counts_only() || sampled_blocks_may_have(block))
        free_recorded(block);
    else
        g_real.free(block);
}

/* ---- calloc ---- */

MTRACE_INLINE void *calloc_decided(size_t n, size_t size, size_t size_bytes, bool is_drawn)
{
    void *block = g_real.calloc(n, size);

    if (mtrace_unlikely(!block) || is_drawn) {
        const struct unwind_origin origin = RECORD_ORIGIN();
        record_counted_result(block, size_bytes, LOG_CALL_CALLOC, is_drawn, &origin);
    }
    return block;
}

static size_t bytes_of(size_t n, size_t size)
{
    size_t size_bytes;

    return __builtin_mul_overflow(n, size, &size_bytes) ? SIZE_MAX : size_bytes;
}

static bool is_of_loader(const void *caller)
{
    return mtrace_unlikely(modules_is_loader((uintptr_t)caller));
}

MTRACE_JUMPED_TO void *calloc_checked(size_t n, size_t size)
{
    size_t size_bytes = bytes_of(n, size);

    if (!lifecycle_is_ready())
        return real_bootstrap_allocate(0, size_bytes);
    if (is_of_loader(__builtin_return_address(0)) && state_is_recording())
        loading_note(size == 1); /* the size that _dl_new_object uses */
    return calloc_decided(n, size, size_bytes, record_selects_alloc(size_bytes));
}

MTRACE_JUMPED_TO void *calloc_recorded(size_t n, size_t size)
{
    if (!record_has_all() || is_of_loader(__builtin_return_address(0)))
        return calloc_checked(n, size);
    return calloc_decided(n, size, bytes_of(n, size), true);
}

MTRACE_JUMPED_TO void *calloc_counted(size_t n, size_t size)
{
    size_t size_bytes = bytes_of(n, size);

    return calloc_decided(n, size, size_bytes, record_draw_slow(size_bytes));
}

MTRACE_JUMPED_TO void *calloc_failed(size_t n, size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    record_counted_result(NULL, bytes_of(n, size), LOG_CALL_CALLOC, false, &origin);
    return NULL;
}

MTRACE_JUMPED_TO void *calloc_counting(size_t n, size_t size)
{
    void *block;

    if (is_of_loader(__builtin_return_address(0)))
        return calloc_checked(n, size);
    if (sampler_count(bytes_of(n, size)))
        return calloc_counted(n, size);
    block = g_real.calloc(n, size);
    return mtrace_likely(block != NULL) ? block : calloc_failed(n, size);
}

MTRACE_EXPORT void *calloc(size_t n, size_t size)
{
    return record_counts_only() ? calloc_counting(n, size) : calloc_recorded(n, size);
}

/* ---- realloc ---- */

/*
 * realloc(p, 0) in glibc frees p and returns NULL: a free, stamped before the call. With other
 * allocators the result decides: a block, or NULL and the old block is freed.
 */
static void record_reallocated(void *block, void *old, size_t size, enum log_call call,
                               const struct record_resize *resize,
                               const struct unwind_origin *origin)
{
    if (mtrace_likely(block && old)) {
        record_realloc(block, size, call, resize, origin);
        return;
    }
    record_resize_cancel(resize);
    if (block)
        record_alloc(block, size, call, 0, origin);
    else if (size != 0 || !old)
        record_failure(old, size, call, errno, origin);
    else
        record_free(old, origin);
}

MTRACE_INLINE void *reallocate_ready(void *old, size_t size, enum log_call call,
                                     const struct unwind_origin *origin)
{
    struct record_resize resize;
    void *block;

    if (mtrace_unlikely(size == 0 && old && real_is_glibc_malloc())) {
        record_free(old, origin);
        return g_real.realloc(old, 0);
    }
    record_resize_begins(&resize, old);
    block = g_real.realloc(old, size);
    record_reallocated(block, old, size, call, &resize, origin);
    return block;
}

static void *reallocate(void *old, size_t size, enum log_call call,
                        const struct unwind_origin *origin)
{
    if (mtrace_unlikely(real_is_bootstrap_block(old) || !lifecycle_is_ready()))
        return real_bootstrap_reallocate(old, size);
    return reallocate_ready(old, size, call, origin);
}

MTRACE_JUMPED_TO void *realloc_recorded(void *old, size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    return record_has_all() ? reallocate_ready(old, size, LOG_CALL_REALLOC, &origin)
                            : reallocate(old, size, LOG_CALL_REALLOC, &origin);
}

/* The old block was no sample (RC-4). The new one is counted, if there is one. */
MTRACE_JUMPED_TO void *realloc_counted(void *block, size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (record_draw_slow(size))
        record_selected_alloc(block, size, LOG_CALL_REALLOC, 0, &origin);
    return block;
}

MTRACE_JUMPED_TO void *realloc_failed(void *old, size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    record_failure(old, size, LOG_CALL_REALLOC, errno, &origin);
    return NULL;
}

MTRACE_JUMPED_TO void *realloc_counting(void *old, size_t size)
{
    void *block;

    if (sampled_blocks_may_have(old) || size == 0)
        return realloc_recorded(old, size);
    block = g_real.realloc(old, size);
    if (mtrace_unlikely(!block))
        return realloc_failed(old, size);
    return sampler_count(size) ? realloc_counted(block, size) : block;
}

MTRACE_EXPORT void *realloc(void *old, size_t size)
{
    return record_counts_only() ? realloc_counting(old, size) : realloc_recorded(old, size);
}

MTRACE_EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    size_t size_bytes;

    if (__builtin_mul_overflow(n, size, &size_bytes)) {
        errno = ENOMEM;
        record_failure(old, SIZE_MAX, LOG_CALL_REALLOCARRAY, ENOMEM, &origin);
        return NULL;
    }
    return reallocate(old, size_bytes, LOG_CALL_REALLOCARRAY, &origin);
}

MTRACE_EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    int error;

    if (!lifecycle_is_ready()) {
        *ret_block = real_bootstrap_allocate(alignment, size);
        return *ret_block ? 0 : ENOMEM;
    }
    error = g_real.posix_memalign(ret_block, alignment, size);
    if (error != 0)
        record_failure(NULL, size, LOG_CALL_POSIX_MEMALIGN, error, &origin);
    else if (*ret_block)
        record_alloc(*ret_block, size, LOG_CALL_POSIX_MEMALIGN, alignment, &origin);
    return error;
}

/* memalign rounds other alignments up to a power of two; the alignment of the block is recorded. */
static size_t power_of_two(size_t alignment)
{
    size_t power = 1;

    while (power < alignment && power << 1)
        power <<= 1;
    return power;
}

MTRACE_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!lifecycle_is_ready())
        return real_bootstrap_allocate(alignment, size);
    return record_if_selected(g_real.aligned_alloc(alignment, size), size, LOG_CALL_ALIGNED_ALLOC,
                              power_of_two(alignment), &origin);
}

MTRACE_EXPORT void *memalign(size_t alignment, size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!lifecycle_is_ready())
        return real_bootstrap_allocate(alignment, size);
    return record_if_selected(g_real.memalign(alignment, size), size, LOG_CALL_MEMALIGN,
                              power_of_two(alignment), &origin);
}

MTRACE_EXPORT void *valloc(size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!lifecycle_is_ready())
        return NULL;
    return record_if_selected(g_real.valloc(size), size, LOG_CALL_VALLOC, sys_page_bytes(),
                              &origin);
}

MTRACE_EXPORT void *pvalloc(size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!lifecycle_is_ready())
        return NULL;
    return record_if_selected(g_real.pvalloc(size), size, LOG_CALL_PVALLOC, sys_page_bytes(),
                              &origin);
}

/* The allocator may lack the three below; then they do a plain free. */
void cfree(void *block);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

MTRACE_EXPORT void cfree(void *block)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!block || real_is_bootstrap_block(block) || !lifecycle_is_ready())
        return;
    record_free(block, &origin);
    if (g_real.cfree)
        g_real.cfree(block);
    else
        g_real.free(block);
}

MTRACE_EXPORT void free_sized(void *block, size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!block || real_is_bootstrap_block(block) || !lifecycle_is_ready())
        return;
    record_free(block, &origin);
    if (g_real.free_sized)
        g_real.free_sized(block, size);
    else
        g_real.free(block);
}

MTRACE_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!block || real_is_bootstrap_block(block) || !lifecycle_is_ready())
        return;
    record_free(block, &origin);
    if (g_real.free_aligned_sized)
        g_real.free_aligned_sized(block, alignment, size);
    else
        g_real.free(block);
}

/*
 * jemalloc's own entry points. Without jemalloc they are never called, because programs look for
 * more weak symbols than these; they then behave like the ordinary functions.
 */
void *mallocx(size_t size, int flags);
void *rallocx(void *old, size_t size, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);

static size_t alignment_of_flags(int flags)
{
    return flags & 63 ? (size_t)1 << (flags & 63) : 0;
}

MTRACE_EXPORT void *mallocx(size_t size, int flags)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    size_t alignment = alignment_of_flags(flags);

    if (!lifecycle_is_ready())
        return real_bootstrap_allocate(alignment, size);
    if (!g_real.mallocx)
        return record_if_selected(alignment ? g_real.memalign(alignment, size)
                                            : g_real.calloc(1, size),
                                  size, LOG_CALL_MALLOCX, alignment, &origin);
    return record_if_selected(g_real.mallocx(size, flags), size, LOG_CALL_MALLOCX, alignment,
                              &origin);
}

MTRACE_EXPORT void *rallocx(void *old, size_t size, int flags)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    struct record_resize resize;
    void *block;

    if (real_is_bootstrap_block(old) || !lifecycle_is_ready() || !g_real.rallocx)
        return reallocate(old, size, LOG_CALL_RALLOCX, &origin);
    record_resize_begins(&resize, old);
    block = g_real.rallocx(old, size, flags);
    record_reallocated(block, old, size, LOG_CALL_RALLOCX, &resize, &origin);
    return block;
}

MTRACE_EXPORT void dallocx(void *block, int flags)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!block || real_is_bootstrap_block(block) || !lifecycle_is_ready())
        return;
    record_free(block, &origin);
    if (g_real.dallocx)
        g_real.dallocx(block, flags);
    else
        g_real.free(block);
}

MTRACE_EXPORT void sdallocx(void *block, size_t size, int flags)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!block || real_is_bootstrap_block(block) || !lifecycle_is_ready())
        return;
    record_free(block, &origin);
    if (g_real.sdallocx)
        g_real.sdallocx(block, size, flags);
    else
        g_real.free(block);
}
