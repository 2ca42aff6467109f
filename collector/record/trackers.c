/* SPDX-License-Identifier: MIT */
#include "collector/record/trackers.h"

#include "collector/log/segment.h"
#include "collector/platform/clock.h"
#include "collector/platform/sys.h"
#include "collector/record/state.h"
#include "collector/record/thread.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

enum {
    N_SLOTS = 16,
    N_LANES = 16,
    BEING_CHANGED = -1,
    NAP_NS = 50000,
    ALL_KINDS = MTRACE_EVENT_ALLOC | MTRACE_EVENT_FREE | MTRACE_EVENT_RESIZE,
};

/* Threads that run the function, in lanes, so that they do not wait for one cache line. */
struct lane {
    _Alignas(64) _Atomic uint32_t n_inside;
};

static struct slot {
    _Atomic int handle; /* 0: nobody's; BEING_CHANGED; stored last */
    unsigned kinds;
    trackers_callback *callback;
    void *user;
    struct lane lanes[N_LANES];
} g_slots[N_SLOTS];

/* Of all slots: an event of another kind needs none of them. The bits above: sum_kinds. */
static _Atomic unsigned g_kinds;
static _Atomic uint32_t g_n_given; /* handles, so that no two are the same */
static _Atomic uint64_t g_n_untold;

/* What this thread is telling, TK-1. */
static _Thread_local struct {
    uintptr_t frame; /* 0: nothing */
    struct slot *slot;
    struct lane *lane; /* of the slot: the thread's number may change in a fork child */
} g_telling __attribute__((tls_model("initial-exec")));

/* ---- adding and removing -----------------------------------------------------------------------
 */

static int make_handle(unsigned slot)
{
    uint32_t number = atomic_fetch_add_explicit(&g_n_given, 1, memory_order_relaxed) + 1;

    return (int)(number % (INT_MAX / N_SLOTS)) * N_SLOTS + (int)slot + 1;
}

static struct slot *slot_of(int handle)
{
    return &g_slots[(handle - 1) % N_SLOTS];
}

/* Of two who sum at once the second one sees what both changed: each sum has a number of its own. */
static void sum_kinds(void)
{
    unsigned before = atomic_load(&g_kinds);
    unsigned now;

    do {
        now = (before & ~(unsigned)ALL_KINDS) + ALL_KINDS + 1;
        for (unsigned i = 0; i < N_SLOTS; i++)
            if (atomic_load(&g_slots[i].handle) > 0)
                now |= g_slots[i].kinds;
    } while (!atomic_compare_exchange_strong(&g_kinds, &before, now));
}

int trackers_add(trackers_callback *callback, void *user, unsigned kinds)
{
    if (!callback || (kinds & ALL_KINDS) == 0 || !known_blocks_begin())
        return 0;
    state_watch();
    for (unsigned i = 0; i < N_SLOTS; i++) {
        struct slot *slot = &g_slots[i];
        int nobody = 0;
        int handle;

        if (!atomic_compare_exchange_strong(&slot->handle, &nobody, BEING_CHANGED))
            continue;
        slot->callback = callback;
        slot->user = user;
        slot->kinds = kinds;
        handle = make_handle(i);
        atomic_store(&slot->handle, handle);
        sum_kinds();
        return handle;
    }
    return 0;
}

static uint32_t count_inside(const struct slot *slot)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < N_LANES; i++)
        n += atomic_load(&slot->lanes[i].n_inside);
    return n;
}

bool trackers_remove(int handle)
{
    struct slot *slot = handle > 0 ? slot_of(handle) : NULL;
    int expected = handle;

    if (!slot || !atomic_compare_exchange_strong(&slot->handle, &expected, BEING_CHANGED))
        return false;
    while (count_inside(slot) > (g_telling.slot == slot))
        sys_nap(NAP_NS);
    atomic_store(&slot->handle, 0);
    sum_kinds();
    return true;
}

/* ---- telling -----------------------------------------------------------------------------------
 */

/* TK-3; false: its place is no more what it was. */
static bool enter(struct slot *slot, int handle)
{
    g_telling.lane = &slot->lanes[g_thread.index % N_LANES];
    g_telling.slot = slot;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_fetch_add(&g_telling.lane->n_inside, 1);
    return atomic_load(&slot->handle) == handle;
}

static void leave(void)
{
    atomic_fetch_sub(&g_telling.lane->n_inside, 1);
    atomic_signal_fence(memory_order_seq_cst);
    g_telling.slot = NULL;
}

static void abandon(void)
{
    if (g_telling.slot)
        leave();
    g_thread.left = NULL;
    g_telling.frame = 0;
}

static void tell_all(const struct mtrace_event *event)
{
    for (unsigned i = 0; i < N_SLOTS; i++) {
        struct slot *slot = &g_slots[i];
        int handle = atomic_load_explicit(&slot->handle, memory_order_acquire);

        if (handle <= 0)
            continue;
        if (enter(slot, handle) && slot->kinds & event->kind)
            slot->callback(event, slot->user);
        leave();
    }
}

/* TK-4 */
bool trackers_is_telling(const struct unwind_origin *origin)
{
    if (g_telling.frame != 0 && origin->cfa > g_telling.frame
        && thread_is_on_own_stack(&g_thread, g_telling.frame)
        && thread_is_on_own_stack(&g_thread, origin->cfa) && !sys_is_on_signal_stack())
        abandon();
    return g_telling.frame != 0;
}

static uint64_t now_ns(void)
{
    uint64_t start_ns = segment_log()->start_monotonic_ns;
    uint64_t now = clock_now().monotonic_ns;

    return now > start_ns ? now - start_ns : 0;
}

static MTRACE_NOINLINE void tell(struct mtrace_event *event)
{
    int error = errno;

    if (!(atomic_load_explicit(&g_kinds, memory_order_acquire) & event->kind))
        return;
    event->thread_id = g_thread.index;
    event->time_ns = now_ns();
    g_telling.frame = (uintptr_t)__builtin_frame_address(0);
    g_thread.left = abandon;
    atomic_signal_fence(memory_order_seq_cst);
    tell_all(event);
    abandon();
    errno = error;
}

static void tell_birth(const void *block, const struct known_block *fresh)
{
    struct mtrace_event event = {
        .kind = MTRACE_EVENT_ALLOC,
        .group = fresh->group,
        .current_group = fresh->group,
        .alloc_thread_id = fresh->thread,
        .stack_id = fresh->node,
        .alloc_stack_id = fresh->node,
        .address = block,
        .size_bytes = fresh->size_bytes,
        .usable_bytes = fresh->usable_bytes,
    };

    tell(&event);
}

void trackers_tell_alloc(const void *block, const struct known_block *fresh)
{
    if (fresh->group == MTRACE_GROUP_UNTRACKED)
        return;
    known_blocks_put(block, fresh);
    tell_birth(block, fresh);
}

void trackers_tell_free(const void *block, uint32_t node)
{
    struct mtrace_event event = {.kind = MTRACE_EVENT_FREE};
    struct known_block known;

    if (!known_blocks_take(block, &known))
        return;
    event.group = known.group;
    event.current_group = g_thread.group;
    event.alloc_thread_id = known.thread;
    event.stack_id = node;
    event.alloc_stack_id = known.node;
    event.address = block;
    event.size_bytes = known.size_bytes;
    event.usable_bytes = known.usable_bytes;
    tell(&event);
}

/* A block that was known stays so, whoever resizes it. */
static struct known_block replace(struct known_place *place, const void *block,
                                  const struct known_block *fresh)
{
    struct known_block old = known_blocks_held(place);

    known_blocks_let_go(place);
    known_blocks_put(block, fresh);
    return old;
}

void trackers_tell_resize(const void *old_block, struct known_place *place, const void *block,
                          const struct known_block *fresh)
{
    const struct known_block old = replace(place, block, fresh);
    struct mtrace_event event = {
        .kind = MTRACE_EVENT_RESIZE,
        .group = old.group,
        .current_group = fresh->group,
        .alloc_thread_id = old.thread,
        .stack_id = fresh->node,
        .alloc_stack_id = old.node,
        .address = block,
        .old_address = old_block,
        .size_bytes = fresh->size_bytes,
        .usable_bytes = fresh->usable_bytes,
        .old_size_bytes = old.size_bytes,
        .old_usable_bytes = old.usable_bytes,
    };

    tell(&event);
}

/* ---- what is not told --------------------------------------------------------------------------
 */

static void count_untold(void)
{
    atomic_fetch_add_explicit(&g_n_untold, 1, memory_order_relaxed);
}

void trackers_pass_free(const void *block)
{
    struct known_block known;

    if (known_blocks_take(block, &known))
        count_untold();
}

void trackers_pass_resize(struct known_place *place, const void *block,
                          const struct known_block *fresh)
{
    if (!place)
        return;
    replace(place, block, fresh);
    count_untold();
}

/* ---- forks ------------------------------------------------------------------------------------
 */

void trackers_forget(void)
{
    for (unsigned slot = 0; slot < N_SLOTS; slot++) {
        for (unsigned i = 0; i < N_LANES; i++)
            atomic_store(&g_slots[slot].lanes[i].n_inside, 0);
        if (atomic_load(&g_slots[slot].handle) == BEING_CHANGED)
            atomic_store(&g_slots[slot].handle, 0);
    }
    if (g_telling.slot)
        atomic_store(&g_telling.lane->n_inside, 1);
}

uint64_t trackers_count_untold(void)
{
    return atomic_load_explicit(&g_n_untold, memory_order_relaxed);
}
