/* SPDX-License-Identifier: MIT */
#include "collector/unwind/own_stacks.h"

#include "collector/arch/arch.h"
#include "collector/log/modules.h"
#include "collector/os/sys.h"
#include "collector/unwind/unwind_state.h"

enum {
    GUARD_PLACE_BITS = 48,
    NAP_NS = 50000,
    NAPS = OWN_STACKS_TIME_LIMIT_NS / NAP_NS,

    PENDING = 4,

    MAX_PROVEN_PAGES = 4096, /* if more than 16 MiB are in use, each word is probed */

    /* Values of `high` that no stack or hole has. */
    FREE = 0,
    BEING_CHANGED = 1,
    /* Bounds that contain no address, and differ from unknown ones. */
    NOWHERE = 1,
};

static struct place {
    _Atomic uintptr_t low;
    _Atomic uintptr_t high;
    _Atomic uintptr_t guard;
    _Atomic long thread;  /* as the kernel calls it */
    _Atomic bool is_lost; /* another thread made a hole in it */
} g_places[OWN_STACKS_PLACES];

static _Atomic uint32_t g_n_places; /* ever used */
static _Atomic bool g_has_changed;  /* the bounds of some thread differ from the table */
_Atomic uint32_t g_own_stacks_generation;

/* Holes that threads are about to make in other threads' stacks. high is stored last. */
static struct pending {
    _Atomic uintptr_t low;
    _Atomic uintptr_t high;
} g_pending[PENDING];

_Atomic uint32_t g_own_stacks_n_pending;

struct range {
    uintptr_t low, high; /* whole pages */
};

static struct range range_of(const void *start, size_t length)
{
    const uintptr_t page = ~(uintptr_t)(ARCH_PAGE_BYTES - 1);
    const uintptr_t low = (uintptr_t)start & page;
    const uintptr_t end = (uintptr_t)start + length + ARCH_PAGE_BYTES - 1;

    return (struct range){low, end < low ? page : end & page};
}

static bool overlaps(const struct place *place, struct range range)
{
    return atomic_load_explicit(&place->high, memory_order_acquire) > range.low
           && atomic_load_explicit(&place->low, memory_order_relaxed) < range.high;
}

/* From *place on; NULL: no further one overlaps. */
static struct place *next_in(struct place *place, struct range range)
{
    struct place *end = g_places + atomic_load_explicit(&g_n_places, memory_order_acquire);

    while (place < end && !overlaps(place, range))
        place++;
    return place < end ? place : NULL;
}

/* The entry of the thread whose stack contains the address. */
static struct place *place_of(uintptr_t address)
{
    return next_in(g_places, (struct range){address, address + 1});
}

/* ---- the table ---- */

static bool take(_Atomic uintptr_t *high)
{
    uintptr_t now = atomic_load_explicit(high, memory_order_relaxed);

    return now == FREE && atomic_compare_exchange_strong(high, &now, BEING_CHANGED);
}

/* Takes an entry after all used ones before the count includes it. */
static struct place *take_any(void)
{
    for (uint32_t i = 0; i < OWN_STACKS_PLACES; i++) {
        uint32_t n = i;
        if (!take(&g_places[i].high))
            continue;
        while (n < i + 1 && !atomic_compare_exchange_weak(&g_n_places, &n, i + 1))
            ;
        return &g_places[i];
    }
    return NULL;
}

void own_stacks_add(uintptr_t low, uintptr_t high, const uint64_t *guard)
{
    const struct range range = {low, high};
    struct place *place = g_places;

    while ((place = next_in(place, range)))
        atomic_store_explicit(&place->high, FREE, memory_order_relaxed);
    place = take_any();
    if (!place)
        return;
    atomic_store_explicit(&place->low, low, memory_order_relaxed);
    atomic_store_explicit(&place->guard, (uintptr_t)guard, memory_order_relaxed);
    atomic_store_explicit(&place->is_lost, false, memory_order_relaxed);
    atomic_store_explicit(&place->high, high, memory_order_release);
}

void own_stacks_remove(const struct unwind_memory *own)
{
    struct place *place = own->stack_high > NOWHERE ? place_of(own->stack_low) : NULL;

    if (place)
        atomic_store_explicit(&place->high, FREE, memory_order_relaxed);
}

void own_stacks_forget(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    for (uint32_t i = 0; i < OWN_STACKS_PLACES; i++)
        if (!overlaps(&g_places[i], (struct range){here, here + 1}))
            atomic_store_explicit(&g_places[i].high, FREE, memory_order_relaxed);
}

/* ---- bounds ---- */

static void end_bounds(struct unwind_memory *own)
{
    own->stack_low = own->stack_high = NOWHERE;
}

/* From the start of a page up to the first hole before `end`. */
static uintptr_t find_hole(uintptr_t from, uintptr_t end)
{
    for (unsigned n = 0; n < MAX_PROVEN_PAGES && from < end && sys_is_readable(from); n++)
        from += ARCH_PAGE_BYTES;
    return from < end ? from : end;
}

uintptr_t own_stacks_prove(uintptr_t low, uintptr_t high)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t proven = high;

    if (here >= low && here < high && !sys_is_forbidden())
        proven = find_hole(range_of((const void *)here, 0).low, high);
    if (proven < high)
        g_has_changed = true;
    return proven;
}

/* In the caller's own stack. Frames below its stack pointer are not remembered. */
static void begin_own_hole(struct unwind_memory *own, uintptr_t here, struct range hole)
{
    g_has_changed = true;
    if (hole.high <= here) {
        if (own->stack_low < hole.high)
            own->stack_low = hole.high;
        return;
    }
    if (hole.low <= here)
        end_bounds(own);
    else if (hole.low < own->stack_high)
        own->stack_high = hole.low;
    unwind_state_forget_later(own);
}

/* ---- holes that are about to be made ---- */

bool own_stacks_is_pending_slow(uintptr_t address)
{
    for (unsigned i = 0; i < PENDING; i++)
        if (address < atomic_load_explicit(&g_pending[i].high, memory_order_acquire)
            && address >= atomic_load_explicit(&g_pending[i].low, memory_order_relaxed))
            return true;
    return false;
}

static void begin_pending(struct range hole)
{
    for (unsigned i = 0; i < PENDING; i++) {
        if (!take(&g_pending[i].high))
            continue;
        atomic_store_explicit(&g_pending[i].low, hole.low, memory_order_relaxed);
        atomic_store_explicit(&g_pending[i].high, hole.high, memory_order_release);
        atomic_fetch_add(&g_own_stacks_n_pending, 1);
        atomic_fetch_add_explicit(&g_own_stacks_generation, 1, memory_order_release);
        return;
    }
}

static void end_pending(struct range hole)
{
    for (unsigned i = 0; i < PENDING; i++) {
        uintptr_t high = hole.high;
        if (atomic_load_explicit(&g_pending[i].low, memory_order_relaxed) != hole.low
            || !atomic_compare_exchange_strong(&g_pending[i].high, &high, FREE))
            continue;
        atomic_fetch_sub(&g_own_stacks_n_pending, 1);
        return;
    }
}

void own_stacks_forget_others(void)
{
    for (unsigned i = 0; i < PENDING; i++)
        atomic_store_explicit(&g_pending[i].high, FREE, memory_order_relaxed);
    g_own_stacks_n_pending = 0;
}

/*
 * A recording on that stack, as its recursion guard shows. Read through the kernel: the thread may
 * have ended, and its storage may have been reused.
 */
static bool is_recording(const struct place *place)
{
    uint64_t guard;
    uint64_t at;

    if (sys_copy_own(&guard, place->guard, sizeof(guard)) != (long)sizeof(guard) || !(guard & 1))
        return false;
    at = guard & (((uint64_t)1 << GUARD_PLACE_BITS) - 1);
    return at >= place->low && at < place->high;
}

/*
 * A recording that begins from now on reads nothing in the hole. A signal handler inside an older
 * one may take long, so *looks is a common limit for all threads.
 */
static void begin_hole_of_other(struct place *place, unsigned *looks)
{
    if (!atomic_exchange(&place->is_lost, true)) {
        g_has_changed = true;
        modules_bump_epoch();
    }
    while (*looks > 0 && is_recording(place))
        if (--*looks < NAPS)
            sys_nap(NAP_NS);
}

/* OS-4 */
static void begin_hole_without_place(struct unwind_memory *own, struct range hole)
{
    if (own->stack_high <= hole.low || own->stack_low >= hole.high || place_of(own->stack_low))
        return;
    end_bounds(own);
    unwind_state_forget_later(own);
}

void own_stacks_begin_hole(struct unwind_memory *own, const void *start, size_t length)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const struct range hole = range_of(start, length);
    struct place *place = g_places;
    unsigned looks = NAPS + 16;
    bool is_pending = false;

    atomic_fetch_add_explicit(&g_own_stacks_generation, 1, memory_order_release);
    for (; (place = next_in(place, hole)); place++) {
        if (overlaps(place, (struct range){here, here + 1})) {
            begin_own_hole(own, here, hole);
            continue;
        }
        if (!is_pending)
            begin_pending(hole);
        is_pending = true;
        begin_hole_of_other(place, &looks);
    }
    begin_hole_without_place(own, hole);
}

void own_stacks_changed(struct unwind_memory *own, const void *start, size_t length,
                        bool is_readable)
{
    const struct range range = range_of(start, length);
    const struct place *place;

    if (!is_readable)
        atomic_fetch_add_explicit(&g_own_stacks_generation, 1, memory_order_release);
    if (g_own_stacks_n_pending != 0)
        end_pending(range);
    if (!g_has_changed || own->stack_high <= NOWHERE || !(place = place_of(own->stack_low)))
        return;
    if (is_readable && range.low < own->stack_low && own->stack_low <= range.high)
        own->stack_low = range.low > place->low ? range.low : place->low;
    if (range.low <= own->stack_high && own->stack_high < range.high)
        own->stack_high = find_hole(own->stack_high, place->high);
}

uintptr_t own_stacks_refresh(struct unwind_memory *own)
{
    const struct place *place;

    if (!g_has_changed || own->stack_high <= NOWHERE || !(place = place_of(own->stack_low)))
        return 0;
    if (!place->is_lost)
        return place->high;
    end_bounds(own);
    return 0;
}
