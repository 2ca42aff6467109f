/* SPDX-License-Identifier: MIT */
#include "collector/record/inside.h"

#include "collector/arch/arch.h"
#include "collector/platform/clock.h"
#include "collector/platform/sys.h"
#include "collector/record/inside_plan.h"
#include "collector/record/record.h"
#include "collector/record/reentry.h"
#include "collector/record/state.h"
#include "common/attr.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/single_threaded.h>

enum {
    MOST_ENTRIES = 128,  /* as in recorder/allocator/entry_plan.h */
    ALIGNMENT_BITS = 63, /* of jemalloc's flags */
};

typedef uintptr_t word;

static struct inside_entry g_entries[MOST_ENTRIES]; /* constant once redirected */
static struct code_patch g_patches[MOST_ENTRIES];   /* touched only where there is a plan */
static enum log_inside g_state;

/* The block that an entry recorded last: of an operator new that calls another entry for it. */
static _Thread_local const void *g_last_made __attribute__((tls_model("initial-exec")));

/* ---- what the program calls ------------------------------------------------------------------- */

static size_t size_of(const struct inside_entry *entry, const word *arguments)
{
    size_t size = arguments[entry->size];

    if (entry->times != INSIDE_NO_ARGUMENT
        && __builtin_mul_overflow(arguments[entry->times], size, &size))
        size = SIZE_MAX;
    return size;
}

/* 0: the allocator's own. */
static size_t alignment_of(const struct inside_entry *entry, const word *arguments)
{
    size_t alignment = 0;

    if (entry->flags != INSIDE_NO_ARGUMENT)
        return arguments[entry->flags] & ALIGNMENT_BITS
                   ? (size_t)1 << (arguments[entry->flags] & ALIGNMENT_BITS)
                   : 0;
    if (entry->alignment != INSIDE_NO_ARGUMENT)
        alignment = arguments[entry->alignment];
    else if (entry->call == LOG_CALL_VALLOC || entry->call == LOG_CALL_PVALLOC)
        return ARCH_PAGE_BYTES;
    return alignment & (alignment - 1) ? 0 : alignment;
}

static size_t usable_of(const struct inside_entry *entry, const void *block)
{
    return entry->usable && block ? entry->usable(block, 0) : 0;
}

/* --zero-memory is of malloc and new alone: others' blocks have something in them, as strdup's. */
static bool is_to_zero(const struct inside_entry *entry)
{
    return mtrace_unlikely(state_config()->zeroes_memory) && entry->size != INSIDE_NO_ARGUMENT
           && (entry->call == LOG_CALL_MALLOC || entry->call == LOG_CALL_NEW);
}

static void record_made(const void *block, size_t size, size_t usable,
                        const struct inside_entry *entry, size_t alignment,
                        const struct unwind_origin *origin)
{
    g_last_made = block;
    if (block && is_to_zero(entry))
        memset((void *)(uintptr_t)block, 0, size);
    if (mtrace_likely(block != NULL))
        record_alloc_known(block, size, usable, entry->call, alignment, origin);
    else
        record_failure(NULL, size, entry->call, errno, origin);
}

/* malloc(size), by far the most frequent one. */
static void *make_plain(size_t size, word b, word c, word d, word e,
                        const struct inside_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    bool has_entered = reentry_enter();
    void *block = (void *)entry->original(size, b, c, d, e);
    size_t usable = has_entered ? usable_of(entry, block) : 0;

    reentry_leave(has_entered);
    if (has_entered)
        record_made(block, size, usable, entry, 0, &origin);
    return block;
}

static void *make(word a, word b, word c, word d, word e, const struct inside_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    bool has_entered = reentry_enter();
    void *block = (void *)entry->original(a, b, c, d, e);
    size_t usable = has_entered ? usable_of(entry, block) : 0;

    reentry_leave(has_entered);
    if (has_entered)
        record_made(block, entry->size == INSIDE_NO_ARGUMENT ? usable : size_of(entry, arguments),
                    usable, entry, alignment_of(entry, arguments), &origin);
    return block;
}

/* An operator new may throw, and run a handler of the program, through us: no guard is put up. */
static void *make_or_throw(word a, word b, word c, word d, word e, const struct inside_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    bool is_nested = reentry_is_inside();
    void *block;

    g_last_made = NULL;
    block = (void *)entry->original(a, b, c, d, e);
    if (!is_nested && (!block || g_last_made != block)) {
        bool has_entered = reentry_enter();
        size_t usable = usable_of(entry, block);
        reentry_leave(has_entered);
        record_made(block, size_of(entry, arguments), usable, entry, alignment_of(entry, arguments),
                    &origin);
    }
    return block;
}

static int make_and_store(word a, word b, word c, word d, word e, const struct inside_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    bool has_entered = reentry_enter();
    int error = (int)entry->original(a, b, c, d, e);
    void *block = error == 0 ? *(void **)arguments[entry->store] : NULL;
    size_t usable = has_entered ? usable_of(entry, block) : 0;

    reentry_leave(has_entered);
    if (!has_entered)
        return error;
    if (error != 0)
        record_failure(NULL, size_of(entry, arguments), entry->call, error, &origin);
    else if (block)
        record_made(block, size_of(entry, arguments), usable, entry, alignment_of(entry, arguments),
                    &origin);
    return error;
}

static word give_back(word a, word b, word c, word d, word e, const struct inside_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    bool has_entered;
    word result;

    if (a && !reentry_is_inside())
        record_free((const void *)a, &origin);
    has_entered = reentry_enter();
    result = entry->original(a, b, c, d, e);
    reentry_leave(has_entered);
    return result;
}

/* Only the result tells what size 0 means to this allocator: a block, or NULL and the old one is gone. */
static void *replace(word a, word b, word c, word d, word e, const struct inside_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    const void *old = (const void *)arguments[entry->block];
    size_t size = size_of(entry, arguments);
    uint64_t began_ticks = state_is_recording() ? clock_ticks_before() : 0;
    bool has_entered = reentry_enter();
    void *block = (void *)entry->original(a, b, c, d, e);
    size_t usable = has_entered ? usable_of(entry, block) : 0;

    reentry_leave(has_entered);
    if (!has_entered)
        return block;
    if (block && old)
        record_realloc_known(block, old, size, usable, entry->call, began_ticks, &origin);
    else if (block)
        record_made(block, size, usable, entry, alignment_of(entry, arguments), &origin);
    else if (size != 0 || !old)
        record_failure(old, size, entry->call, errno, &origin);
    else
        record_free(old, &origin);
    return block;
}

/* xallocx: the result is what the block can hold now, which may be what it could before. */
static size_t resize(word a, word b, word c, word d, word e, const struct inside_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    const void *block = (const void *)arguments[entry->block];
    size_t size = size_of(entry, arguments);
    uint64_t began_ticks = state_is_recording() ? clock_ticks_before() : 0;
    bool has_entered = reentry_enter();
    size_t before = has_entered ? usable_of(entry, block) : 0;
    size_t now = entry->original(a, b, c, d, e);

    reentry_leave(has_entered);
    if (has_entered && now >= size && now != before)
        record_realloc_known(block, block, size, now, entry->call, began_ticks, &origin);
    return now;
}

static uintptr_t hook_of(const struct inside_entry *entry)
{
    bool is_plain = entry->size == 0 && entry->times == INSIDE_NO_ARGUMENT
                    && entry->alignment == INSIDE_NO_ARGUMENT && entry->flags == INSIDE_NO_ARGUMENT
                    && entry->call == LOG_CALL_MALLOC;

    switch (entry->kind) {
    case '+':
        return entry->call == LOG_CALL_NEW ? (uintptr_t)make_or_throw
               : is_plain                  ? (uintptr_t)make_plain
                                           : (uintptr_t)make;
    case '@':
        return entry->store != INSIDE_NO_ARGUMENT && entry->size != INSIDE_NO_ARGUMENT
                   ? (uintptr_t)make_and_store
                   : 0;
    case '-':
        return entry->block == 0 ? (uintptr_t)give_back : 0;
    case '=':
        return entry->block != INSIDE_NO_ARGUMENT && entry->size != INSIDE_NO_ARGUMENT
                   ? (uintptr_t)replace
                   : 0;
    case 'x':
        return entry->block != INSIDE_NO_ARGUMENT && entry->size != INSIDE_NO_ARGUMENT
                   ? (uintptr_t)resize
                   : 0;
    default:
        return 0;
    }
}

/* ---- redirecting ------------------------------------------------------------------------------- */

/* The lowest address of the executable. */
static uintptr_t find_start(uintptr_t base)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t n = headers ? getauxval(AT_PHNUM) : 0;
    uintptr_t start = 0;

    for (size_t i = 0; i < n; i++)
        if (headers[i].p_type == PT_LOAD && (start == 0 || base + headers[i].p_vaddr < start))
            start = base + headers[i].p_vaddr;
    return start;
}

static bool find_hooks(size_t n)
{
    bool are_there = true;

    for (size_t i = 0; i < n; i++) {
        g_patches[i].hook = hook_of(&g_entries[i]);
        are_there &= g_patches[i].hook != 0;
    }
    return are_there;
}

static enum log_inside redirect(struct inside_plan *plan)
{
    uintptr_t base = _r_debug.r_map->l_addr;
    enum log_inside state;
    bool is_partial;
    size_t n;

    if (!inside_plan_is_about_us(plan))
        return LOG_INSIDE_NO_PLAN;
    if (!__libc_single_threaded)
        return LOG_INSIDE_THREADS;
    is_partial = inside_plan_is_partial(plan);
    n = inside_plan_read(plan, base, g_entries, g_patches, MOST_ENTRIES);
    if (n == 0 || !find_hooks(n))
        return LOG_INSIDE_CHANGED;
    state = code_patch_apply(g_patches, n, find_start(base));
    for (size_t i = 0; state == LOG_INSIDE_RECORDED && i < n; i++)
        g_entries[i].original = (word(*)(word, word, word, word, word))g_patches[i].original;
    return state == LOG_INSIDE_RECORDED && is_partial ? LOG_INSIDE_PARTLY : state;
}

void inside_redirect(const char *plan, size_t n_bytes)
{
    struct inside_plan reader = {plan, plan + n_bytes, false};
    uint64_t mask;

    if (!plan || sys_block_signals(&mask) < 0)
        return;
    g_state = redirect(&reader);
    sys_unblock_signals(mask);
}

enum log_inside inside_state(void)
{
    return g_state;
}
