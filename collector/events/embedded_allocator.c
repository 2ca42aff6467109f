/* SPDX-License-Identifier: MIT */
#include "collector/events/embedded_allocator.h"

#include "collector/arch/arch.h"
#include "collector/events/allocator_guard.h"
#include "collector/events/embedded_patch.h"
#include "collector/events/record.h"
#include "collector/os/clock.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"
#include "lib/abi/attr.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum {
    MAX_ENTRIES = 128,   /* as in recorder/patch/patch_plan.h */
    ALIGNMENT_BITS = 63, /* of jemalloc's flags */
};

typedef uintptr_t word;

static struct embedded_allocator_entry g_entries[MAX_ENTRIES]; /* constant once redirected */
static struct code_patch g_patches[MAX_ENTRIES];               /* used only with a plan */
static enum log_embedded g_state;

/* The block that this thread recorded last, for an operator new that calls another entry. */
static _Thread_local const void *g_last_made __attribute__((tls_model("initial-exec")));

/* ---- what the program calls ------------------------------------------------------------------ */

static size_t size_of(const struct embedded_allocator_entry *entry, const word *arguments)
{
    size_t size = arguments[entry->size];

    if (entry->times != EMBEDDED_ALLOCATOR_NO_ARGUMENT
        && __builtin_mul_overflow(arguments[entry->times], size, &size))
        size = SIZE_MAX;
    return size;
}

/* 0: the allocator's default. */
static size_t alignment_of(const struct embedded_allocator_entry *entry, const word *arguments)
{
    size_t alignment = 0;

    if (entry->flags != EMBEDDED_ALLOCATOR_NO_ARGUMENT)
        return arguments[entry->flags] & ALIGNMENT_BITS
                   ? (size_t)1 << (arguments[entry->flags] & ALIGNMENT_BITS)
                   : 0;
    if (entry->alignment != EMBEDDED_ALLOCATOR_NO_ARGUMENT)
        alignment = arguments[entry->alignment];
    else if (entry->call == LOG_CALL_VALLOC || entry->call == LOG_CALL_PVALLOC)
        return sys_page_bytes();
    return alignment & (alignment - 1) ? 0 : alignment;
}

static size_t usable_of(const struct embedded_allocator_entry *entry, const void *block)
{
    return entry->usable && block ? entry->usable(block, 0) : 0;
}

/* --zero-memory applies to malloc and new only: blocks of others, as strdup's, have contents. */
static bool is_to_zero(const struct embedded_allocator_entry *entry)
{
    return mtrace_unlikely(state_config()->zeroes_memory)
           && entry->size != EMBEDDED_ALLOCATOR_NO_ARGUMENT
           && (entry->call == LOG_CALL_MALLOC || entry->call == LOG_CALL_NEW);
}

static void record_made(const struct embedded_allocator_entry *entry, const void *block,
                        size_t size, size_t usable, size_t alignment,
                        const struct unwind_origin *origin)
{
    g_last_made = block;
    if (is_to_zero(entry))
        memset((void *)(uintptr_t)block, 0, size);
    record_alloc_known(block, size, usable, entry->call, alignment, origin);
}

/* The result of a call of the original. */
struct outcome {
    word result;
    const void *block; /* the new block; NULL: none */
    size_t usable;
    bool is_ours; /* must be recorded: the call is not internal to the allocator */
};

/* kind: how the original returns the block. '+': as its result, '@': through a pointer, else not at
 * all. */
static inline __attribute__((always_inline)) struct outcome call_original(
    const struct embedded_allocator_entry *entry, char kind, const word *a)
{
    struct outcome outcome = {.is_ours = allocator_guard_enter()};

    outcome.result = entry->original(a[0], a[1], a[2], a[3], a[4]);
    if (kind == '+')
        outcome.block = (const void *)outcome.result;
    else if (kind == '@' && (int)outcome.result == 0)
        outcome.block = *(void **)a[entry->store];
    if (outcome.is_ours)
        outcome.usable = usable_of(entry, outcome.block);
    allocator_guard_leave(outcome.is_ours);
    return outcome;
}

static void record_outcome(const struct embedded_allocator_entry *entry, const word *arguments,
                           const struct outcome *outcome, int error,
                           const struct unwind_origin *origin)
{
    size_t size =
        entry->size == EMBEDDED_ALLOCATOR_NO_ARGUMENT ? outcome->usable : size_of(entry, arguments);

    if (mtrace_likely(outcome->block != NULL))
        record_made(entry, outcome->block, size, outcome->usable, alignment_of(entry, arguments),
                    origin);
    else
        record_failure(NULL, size, entry->call, error, origin);
}

/* malloc(size), by far the most frequent function. */
static void *make_plain(size_t size, word b, word c, word d, word e,
                        const struct embedded_allocator_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {size, b, c, d, e};
    struct outcome made = call_original(entry, '+', arguments);

    if (made.is_ours && mtrace_likely(made.block != NULL))
        record_made(entry, made.block, size, made.usable, 0, &origin);
    else if (made.is_ours)
        record_failure(NULL, size, entry->call, errno, &origin);
    return (void *)made.result;
}

static void *make(word a, word b, word c, word d, word e,
                  const struct embedded_allocator_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    struct outcome made = call_original(entry, '+', arguments);

    if (made.is_ours)
        record_outcome(entry, arguments, &made, errno, &origin);
    return (void *)made.result;
}

/* An operator new may throw, and run a handler of the program, through this frame: no guard is
 * set. */
static void *make_or_throw(word a, word b, word c, word d, word e,
                           const struct embedded_allocator_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    bool is_nested = allocator_guard_is_inside();
    struct outcome made = {0};

    g_last_made = NULL;
    made.result = entry->original(a, b, c, d, e);
    made.block = (const void *)made.result;
    if (!is_nested && (!made.block || g_last_made != made.block)) {
        bool has_entered = allocator_guard_enter();
        made.usable = usable_of(entry, made.block);
        allocator_guard_leave(has_entered);
        record_outcome(entry, arguments, &made, errno, &origin);
    }
    return (void *)made.result;
}

static int make_and_store(word a, word b, word c, word d, word e,
                          const struct embedded_allocator_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    struct outcome made = call_original(entry, '@', arguments);

    if (made.is_ours && (made.block || (int)made.result != 0))
        record_outcome(entry, arguments, &made, (int)made.result, &origin);
    return (int)made.result;
}

static word give_back(word a, word b, word c, word d, word e,
                      const struct embedded_allocator_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};

    if (a && !allocator_guard_is_inside())
        record_free((const void *)a, &origin);
    return call_original(entry, '-', arguments).result;
}

/* Size 0 has either meaning, depending on the allocator: the result is a block, or it is NULL and
 * the old block is freed. */
static void *replace(word a, word b, word c, word d, word e,
                     const struct embedded_allocator_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    const void *old = (const void *)arguments[entry->block];
    size_t size = size_of(entry, arguments);
    struct record_resize resizing;
    struct outcome made;

    record_resize_begins(&resizing, old);
    made = call_original(entry, '+', arguments);
    if (made.is_ours && made.block && old) {
        record_realloc_known(made.block, size, made.usable, entry->call, &resizing, &origin);
        return (void *)made.result;
    }
    record_resize_cancel(&resizing);
    if (!made.is_ours)
        return (void *)made.result;
    if (old && size == 0)
        record_free(old, &origin);
    else if (old)
        record_failure(old, size, entry->call, errno, &origin);
    else
        record_outcome(entry, arguments, &made, errno, &origin);
    return (void *)made.result;
}

/* xallocx: the result is the usable size now, which may be unchanged. */
static size_t resize(word a, word b, word c, word d, word e,
                     const struct embedded_allocator_entry *entry)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    const word arguments[] = {a, b, c, d, e};
    const void *block = (const void *)arguments[entry->block];
    size_t size = size_of(entry, arguments);
    struct record_resize resizing;
    bool has_entered = allocator_guard_enter();
    size_t before = has_entered ? usable_of(entry, block) : 0;
    struct outcome now;

    allocator_guard_leave(has_entered);
    record_resize_begins(&resizing, block);
    now = call_original(entry, 'x', arguments);
    if (now.is_ours && now.result >= size && now.result != before)
        record_realloc_known(block, size, now.result, entry->call, &resizing, &origin);
    else
        record_resize_cancel(&resizing);
    return now.result;
}

static uintptr_t hook_of(const struct embedded_allocator_entry *entry)
{
    bool is_plain = entry->size == 0 && entry->times == EMBEDDED_ALLOCATOR_NO_ARGUMENT
                    && entry->alignment == EMBEDDED_ALLOCATOR_NO_ARGUMENT
                    && entry->flags == EMBEDDED_ALLOCATOR_NO_ARGUMENT
                    && entry->call == LOG_CALL_MALLOC;

    switch (entry->kind) {
    case '+':
        return entry->call == LOG_CALL_NEW ? (uintptr_t)make_or_throw
               : is_plain                  ? (uintptr_t)make_plain
                                           : (uintptr_t)make;
    case '@':
        return entry->store != EMBEDDED_ALLOCATOR_NO_ARGUMENT
                       && entry->size != EMBEDDED_ALLOCATOR_NO_ARGUMENT
                   ? (uintptr_t)make_and_store
                   : 0;
    case '-':
        return entry->block == 0 ? (uintptr_t)give_back : 0;
    case '=':
        return entry->block != EMBEDDED_ALLOCATOR_NO_ARGUMENT
                       && entry->size != EMBEDDED_ALLOCATOR_NO_ARGUMENT
                   ? (uintptr_t)replace
                   : 0;
    case 'x':
        return entry->block != EMBEDDED_ALLOCATOR_NO_ARGUMENT
                       && entry->size != EMBEDDED_ALLOCATOR_NO_ARGUMENT
                   ? (uintptr_t)resize
                   : 0;
    default:
        return 0;
    }
}

/* ---- redirecting ----------------------------------------------------------------------------- */

/* The lowest address of the executable. */
static uintptr_t find_start(uintptr_t base)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)sys_auxiliary_value(AT_PHDR);
    size_t n = headers ? sys_auxiliary_value(AT_PHNUM) : 0;
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

static enum log_embedded redirect(struct embedded_patch *plan)
{
    uintptr_t base = _r_debug.r_map->l_addr;
    enum log_embedded state;
    bool is_partial;
    size_t n;

    if (!embedded_patch_is_about_us(plan))
        return LOG_EMBEDDED_NO_PLAN;
    if (!clock_is_alone())
        return LOG_EMBEDDED_THREADS;
    is_partial = embedded_patch_is_partial(plan);
    n = embedded_patch_read(plan, base, g_entries, g_patches, MAX_ENTRIES);
    if (n == 0 || !find_hooks(n))
        return LOG_EMBEDDED_CHANGED;
    state = code_patch_apply(g_patches, n, find_start(base));
    for (size_t i = 0; state == LOG_EMBEDDED_RECORDED && i < n; i++)
        g_entries[i].original = (word(*)(word, word, word, word, word))g_patches[i].original;
    return state == LOG_EMBEDDED_RECORDED && is_partial ? LOG_EMBEDDED_PARTLY : state;
}

void embedded_allocator_redirect(const char *plan, size_t n_bytes)
{
    struct embedded_patch reader = {plan, plan + n_bytes, false};
    struct sys_signals mask;

    if (!plan || sys_block_signals(&mask) < 0)
        return;
    g_state = redirect(&reader);
    sys_unblock_signals(mask);
}

enum log_embedded embedded_allocator_state(void)
{
    return g_state;
}
