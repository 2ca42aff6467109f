/* SPDX-License-Identifier: MIT */
/*
 * interpose_memory: mappings and allocator settings: mmap and related calls, brk, mallopt,
 * malloc_trim, malloc_info, mallinfo2, dlclose.
 *
 * A new module is detected when a stack first leads into it (modules.h). dlclose needs no caller;
 * it is where modules end.
 */
#include "collector/arch/arch.h"
#include "collector/events/allocator_guard.h"
#include "collector/events/mapped_memory.h"
#include "collector/events/record.h"
#include "collector/hooks/reference_names.h"
#include "collector/log/modules.h"
#include "collector/os/outward.h"
#include "collector/os/real.h"
#include "collector/process/lifecycle.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"
#include "collector/unwind/own_stacks.h"
#include "lib/abi/attr.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_gathering(void)
{
    return state_is_recording() && state_config()->gathers_mmaps;
}

/* Also records mappings made by the allocator itself; only its internal heap calls are not
 * recorded. */
static void record_mapping(enum log_event_kind kind, uintptr_t address, const uint64_t *words,
                           unsigned n_words, const struct unwind_origin *origin)
{
    bool was_inside = allocator_guard_pause();

    record_event(kind, address, words, n_words, origin);
    allocator_guard_resume(was_inside);
}

/* Before [start, start + length) is unmapped. False: nothing of it is recorded, or the range is
 * invalid. */
static bool record_residency(const void *start, size_t length, struct resident_pages_cut *ret_cut)
{
    bool was_inside;
    bool can_end;

    ret_cut->n = 0;
    ret_cut->others.end = 0;
    if (!is_gathering())
        return false;
    was_inside = allocator_guard_pause();
    can_end = resident_pages_ends(start, length, ret_cut);
    allocator_guard_resume(was_inside);
    return can_end;
}

static const struct resident_pages_cut NOTHING_CUT;

/* Undo: the call failed. */
static void goes_on(const struct resident_pages_cut *cut)
{
    bool was_inside = allocator_guard_pause();

    resident_pages_goes_on(cut);
    allocator_guard_resume(was_inside);
}

/* ---- executable memory of the program's own (JIT) -------------------------------------------- */

/* One range around all JIT code; only grows. Empty: low > high. */
static _Atomic uintptr_t g_code_low = UINTPTR_MAX;
static _Atomic uintptr_t g_code_high;

static void note_code(uintptr_t start, size_t length, int protection)
{
    uintptr_t low = g_code_low;
    uintptr_t high = g_code_high;

    if (!(protection & PROT_EXEC))
        return;
    while (start < low && !atomic_compare_exchange_weak(&g_code_low, &low, start))
        ;
    while (start + length > high
           && !atomic_compare_exchange_weak(&g_code_high, &high, start + length))
        ;
}

/* Call before and after such a range changes, to invalidate what is cached about its addresses
 * (MO-2). */
static void code_changes(const void *start, size_t length)
{
    if ((uintptr_t)start < g_code_high && (uintptr_t)start + length > g_code_low)
        modules_bump_epoch();
}

/* Call before a mapping replaces what may be there. */
static void replaces(const void *start, size_t length, struct resident_pages_cut *ret_cut)
{
    code_changes(start, length);
    (void)record_residency(start, length, ret_cut);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Call around an operation that makes memory unreadable: no thread may read its stack there without
 * a probe. A fork child first forgets the stacks of its parent's other threads. */
static void hole_begins(const void *start, size_t length)
{
    (void)state_is_recording();
    thread_forget_unmapped();
    own_stacks_begin_hole(&g_thread.unwind, start, length);
}

static void stack_changed(const void *start, size_t length, bool is_readable)
{
    own_stacks_changed(&g_thread.unwind, start, length, is_readable);
}

/* ---- mappings -------------------------------------------------------------------------------- */

static void record_mmap(const void *start, size_t length, int protection, int flags, int fd,
                        off64_t offset, const struct unwind_origin *origin)
{
    bool is_file = !(flags & MAP_ANONYMOUS) && fd >= 0;
    uint64_t words[6] = {0, 0, length};

    note_code((uintptr_t)start, length, protection);
    if (!is_gathering())
        return;
    words[3] = ((uint64_t)(unsigned)protection & 0xffff) | (uint64_t)arch_map_flags(flags) << 16;
    words[4] = (uint64_t)(unsigned)fd | (is_file ? (uint64_t)mapped_memory_path_id(fd) << 32 : 0);
    words[5] = (uint64_t)offset;
    record_mapping(LOG_MMAP, (uintptr_t)start, words, 6, origin);
    resident_pages_mapped(start, length, flags);
}

/* The name that the program called: where off_t is shorter, the functions with 64-bit offsets are
 * different ones. */
enum map_name {
    MAP_NAME_MMAP,
    MAP_NAME_MMAP64,
};

static bool is_there(enum map_name name)
{
    return name == MAP_NAME_MMAP ? g_real.mmap != NULL : g_real.mmap64 != NULL;
}

static void *map(enum map_name name, void *start, size_t length, int protection, int flags, int fd,
                 off64_t offset)
{
    return name == MAP_NAME_MMAP ? g_real.mmap(start, length, protection, flags, fd, (off_t)offset)
                                 : g_real.mmap64(start, length, protection, flags, fd, offset);
}

/* The arguments of mmap, and its caller. NOLINTNEXTLINE(readability-function-size) */
static void *map_and_record(enum map_name name, void *start, size_t length, int protection,
                            int flags, int fd, off64_t offset, const struct unwind_origin *origin)
{
    /* pages after the end of a file are not */
    const bool is_readable = protection & PROT_READ && flags & MAP_ANONYMOUS;
    struct resident_pages_cut cut = NOTHING_CUT;
    void *mapped;

    if (!lifecycle_is_ready() || !is_there(name)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    if (flags & MAP_FIXED) {
        replaces(start, length, &cut);
        if (!is_readable)
            hole_begins(start, length);
    }
    mapped = map(name, start, length, protection, flags, fd, offset);
    if (mapped != MAP_FAILED) {
        stack_changed(mapped, length, is_readable);
        record_mmap(mapped, length, protection, flags, fd, offset, origin);
    } else {
        stack_changed(start, length, false);
        goes_on(&cut);
    }
    return mapped;
}

MTRACE_EXPORT void *mmap(void *start, size_t length, int protection, int flags, int fd,
                         off_t offset)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    return map_and_record(MAP_NAME_MMAP, start, length, protection, flags, fd, offset, &origin);
}

MTRACE_EXPORT void *mmap64(void *start, size_t length, int protection, int flags, int fd,
                           off64_t offset)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    return map_and_record(MAP_NAME_MMAP64, start, length, protection, flags, fd, offset, &origin);
}

/* Recorded before the call: another thread may get the range as soon as the kernel frees it. */
MTRACE_EXPORT int munmap(void *start, size_t length)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    uint64_t words[3] = {0, 0, length};
    struct resident_pages_cut cut;
    int result;

    if (!lifecycle_is_ready() || !g_real.munmap) {
        errno = EINVAL;
        return -1;
    }
    if (record_residency(start, length, &cut))
        record_mapping(LOG_MUNMAP, (uintptr_t)start, words, 3, &origin);
    code_changes(start, length);
    hole_begins(start, length);
    result = g_real.munmap(start, length);
    stack_changed(start, length, false);
    code_changes(start, length);
    if (result != 0)
        goes_on(&cut);
    return result;
}

/* Not variadic, since arch.h does not know where a variadic function saves its registers. The last
 * argument is passed in the same way. */
MTRACE_EXPORT void *mremap_wanted(void *old, size_t old_length, size_t new_length, int flags,
                                  void *wanted) __asm__("mremap");

/* The last argument has a meaning only with MREMAP_FIXED; it is always passed on. */
MTRACE_EXPORT void *mremap_wanted(void *old, size_t old_length, size_t new_length, int flags,
                                  void *wanted)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    uint64_t words[5] = {0, 0, (uintptr_t)old, old_length, new_length};
    struct resident_pages_cut cut;
    struct resident_pages_cut target_cut = NOTHING_CUT;
    void *mapped;

    if (!lifecycle_is_ready() || !g_real.mremap) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    code_changes(old, old_length);
    if (flags & MREMAP_FIXED)
        replaces(wanted, new_length, &target_cut);
    (void)record_residency(old, old_length, &cut);
    hole_begins(old, old_length);
    if (flags & MREMAP_FIXED)
        hole_begins(wanted, new_length);
    mapped = g_real.mremap(old, old_length, new_length, flags, wanted);
    stack_changed(old, old_length, false);
    if (mapped != MAP_FAILED || (flags & MREMAP_FIXED))
        stack_changed(mapped != MAP_FAILED ? mapped : wanted, new_length, false);
    code_changes(old, old_length);
    if (flags & MREMAP_DONTUNMAP)
        words[3] = 0;
    if (mapped != MAP_FAILED && is_gathering())
        record_mapping(LOG_MREMAP, (uintptr_t)mapped, words, 5, &origin);
    if (mapped == MAP_FAILED)
        goes_on(&target_cut);
    else if (cut.n > 0)
        resident_pages_mapped(mapped, new_length, MAP_PRIVATE | MAP_ANONYMOUS);
    if (mapped == MAP_FAILED || (flags & MREMAP_DONTUNMAP))
        goes_on(&cut);
    return mapped;
}

static void protection_changes(const void *start, size_t length, int protection)
{
    code_changes(start, length);
    if (!(protection & PROT_READ))
        hole_begins(start, length);
}

static void protection_changed(const void *start, size_t length, int protection, bool has_changed)
{
    stack_changed(start, length, has_changed && protection & PROT_READ);
    code_changes(start, length);
    if (has_changed)
        note_code((uintptr_t)start, length, protection);
}

MTRACE_EXPORT int mprotect(void *start, size_t length, int protection)
{
    int result;

    if (!lifecycle_is_ready() || !g_real.mprotect) {
        errno = ENOMEM;
        return -1;
    }
    protection_changes(start, length, protection);
    result = g_real.mprotect(start, length, protection);
    protection_changed(start, length, protection, result == 0);
    return result;
}

/* A key may take away more rights, and WRPKRU changes them without a call: pages with a key are not
 * trusted. */
MTRACE_EXPORT int pkey_mprotect(void *start, size_t length, int protection, int key)
{
    const int trusted = key == -1 ? protection : protection & ~PROT_READ;
    int result;

    if (!lifecycle_is_ready() || !g_real.pkey_mprotect) {
        errno = ENOSYS;
        return -1;
    }
    protection_changes(start, length, trusted);
    result = g_real.pkey_mprotect(start, length, protection, key);
    protection_changed(start, length, trusted, result == 0);
    return result;
}

/* Guards make pages unreadable without a change of their protection (Linux 6.13). */
COMMON_NAME(madvise) int mtrace_wrap_madvise(void *start, size_t length, int advice)
{
    enum {
        GUARD_INSTALL = 102,
        GUARD_REMOVE = 103
    };

    int result;

    if (!lifecycle_is_ready() || !g_real.madvise) {
        errno = EAGAIN;
        return -1;
    }
    if (advice != GUARD_INSTALL && advice != GUARD_REMOVE)
        return g_real.madvise(start, length, advice);
    if (advice == GUARD_INSTALL)
        hole_begins(start, length);
    result = g_real.madvise(start, length, advice);
    stack_changed(start, length, false);
    return result;
}

static void record_break(uintptr_t now, uintptr_t before, const struct unwind_origin *origin)
{
    uint64_t words[3] = {0, 0, before};

    if (now != before && is_gathering())
        record_mapping(LOG_BRK, now, words, 3, origin);
}

COMMON_NAME(brk) int mtrace_wrap_brk(void *wanted)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    uintptr_t before;
    int result;

    if (!lifecycle_is_ready() || !g_real.brk || !g_real.sbrk) {
        errno = ENOMEM;
        return -1;
    }
    before = (uintptr_t)g_real.sbrk(0);
    result = g_real.brk(wanted);
    if (result == 0)
        record_break((uintptr_t)wanted, before, &origin);
    return result;
}

COMMON_NAME(sbrk) void *mtrace_wrap_sbrk(intptr_t increment)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    void *before;

    if (!lifecycle_is_ready() || !g_real.sbrk) {
        errno = ENOMEM;
        return (void *)-1;
    }
    before = g_real.sbrk(increment);
    if (before != (void *)-1)
        record_break((uintptr_t)before + (uintptr_t)increment, (uintptr_t)before, &origin);
    return before;
}

/* ---- the allocator's settings and figures ---------------------------------------------------- */

static void record_mallopt(uint64_t parameter, int64_t value, int result, unsigned call,
                           const struct unwind_origin *origin)
{
    uint64_t words[5] = {0, 0, parameter, (uint64_t)value,
                         (uint64_t)(uint32_t)result | (uint64_t)call << 32};

    if (state_is_recording())
        record_event(LOG_MALLOPT, 0, words, 5, origin);
}

MTRACE_EXPORT int mallopt(int parameter, int value)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    int result;

    if (!lifecycle_is_ready() || !g_real.mallopt)
        return 0;
    result = g_real.mallopt(parameter, value);
    record_mallopt((uint64_t)(int64_t)parameter, value, result, 0, &origin);
    return result;
}

MTRACE_EXPORT int malloc_trim(size_t pad)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    int result;

    if (!lifecycle_is_ready() || !g_real.malloc_trim)
        return 0;
    result = g_real.malloc_trim(pad);
    record_mallopt(pad, 0, result, 1, &origin);
    mapped_memory_record_heaps();
    return result;
}

MTRACE_EXPORT int malloc_info(int options, FILE *stream)
{
    if (!lifecycle_is_ready() || !g_real.malloc_info)
        return ENOSYS;
    mapped_memory_record_heaps();
    return g_real.malloc_info(options, stream);
}

MTRACE_EXPORT struct mallinfo2 mallinfo2(void)
{
    if (!lifecycle_is_ready() || !g_real.mallinfo2)
        return (struct mallinfo2){0};
    mapped_memory_record_heaps();
    return g_real.mallinfo2();
}

/* ---- modules --------------------------------------------------------------------------------- */

MTRACE_EXPORT OUTWARD int dlclose(void *handle)
{
    struct signals_block quiet;
    int result;

    if (!lifecycle_is_ready() || !g_real.dlclose)
        return -1;
    modules_begin_unload();
    result = g_real.dlclose(handle);
    if (signals_block_begin(&quiet)) {
        modules_check_unloaded();
        signals_block_end(&quiet);
    }
    modules_end_unload();
    return result;
}
