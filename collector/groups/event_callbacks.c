/* SPDX-License-Identifier: MIT */
#include "collector/groups/event_callbacks.h"

#include "collector/groups/active_callbacks.h"
#include "collector/log/segment.h"
#include "collector/os/clock.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

enum {
    N_SLOTS = 16,
    N_KINDS = 4,
    SUM_SHIFT = N_SLOTS,
    BEING_CHANGED = INT_MIN,
    NAP_NS = 50000,
    ALL_KINDS = MTRACE_EVENT_ALLOC | MTRACE_EVENT_FREE | MTRACE_EVENT_RESIZE | MTRACE_EVENT_MOVE,
};

static struct slot {
    _Atomic int
        handle; /* 0: free; BEING_CHANGED; negative: removed, maybe still running. Stored last */
    _Atomic unsigned kinds;
    event_callbacks_callback *callback;
    void *user;
} g_slots[N_SLOTS];

/* For each kind a bit for each slot that wants it, so that an event examines no other slots. Above
 * them: number of the sum (sum_up). */
static _Atomic uint64_t g_asked[N_KINDS];
static _Atomic uint32_t g_n_given; /* number of handles given out, which makes them unique */
static _Atomic uint64_t g_n_unreported;

/* The callback that this thread runs, TK-1. */
static _Thread_local struct {
    uintptr_t frame;     /* 0: none */
    uintptr_t return_to; /* of that frame, TK-4; stored before it */
    uintptr_t stack_end; /* of the thread's own stack; 0: signal handlers may run on a part of it */
    struct callback *callback;
} g_is_reporting __attribute__((tls_model("initial-exec")));

/* ---- adding and removing --------------------------------------------------------------------- */

static int make_handle(unsigned slot)
{
    uint32_t number = atomic_fetch_add_explicit(&g_n_given, 1, memory_order_relaxed) + 1;

    return (int)(number % (INT_MAX / N_SLOTS)) * N_SLOTS + (int)slot + 1;
}

static struct slot *slot_of(int handle)
{
    return &g_slots[(handle - 1) % N_SLOTS];
}

/* A slot that is being changed counts: all its kinds begin together, when the handle is stored. */
static bool may_be_called(const struct slot *slot)
{
    int handle = atomic_load(&slot->handle);

    return handle > 0 || handle == BEING_CHANGED;
}

/* If two threads sum at the same time, the second one sees both changes: each sum has its own
 * number. */
static void sum_up_kind(unsigned kind)
{
    uint64_t before = atomic_load(&g_asked[kind]);
    uint64_t now;

    do {
        now = ((before >> SUM_SHIFT) + 1) << SUM_SHIFT;
        for (unsigned i = 0; i < N_SLOTS; i++)
            if (may_be_called(&g_slots[i]) && atomic_load(&g_slots[i].kinds) >> kind & 1)
                now |= (uint64_t)1 << i;
    } while (!atomic_compare_exchange_strong(&g_asked[kind], &before, now));
}

static void sum_up(void)
{
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        sum_up_kind(kind);
}

/* A bit for each slot that asks for events of the kind. */
static unsigned who_asks(enum mtrace_event_kind kind)
{
    const _Atomic uint64_t *asked = &g_asked[__builtin_ctz(kind)];

    return atomic_load_explicit(asked, memory_order_acquire) & ((1u << N_SLOTS) - 1);
}

/* TK-3: the slot of a callback that was removed from inside a callback is free once no thread runs
 * it. */
static bool is_free(int handle)
{
    return handle == 0
           || (handle < 0 && handle != BEING_CHANGED
               && !active_callbacks_anyone_in((uint32_t)-handle, NULL));
}

int event_callbacks_add(event_callbacks_callback *callback, void *user, unsigned kinds)
{
    if (!callback || (kinds & ALL_KINDS) == 0 || !live_block_index_begin())
        return 0;
    state_set_callbacks();
    for (unsigned i = 0; i < N_SLOTS; i++) {
        struct slot *slot = &g_slots[i];
        int handle = atomic_load(&slot->handle);

        if (!is_free(handle)
            || !atomic_compare_exchange_strong(&slot->handle, &handle, BEING_CHANGED))
            continue;
        slot->callback = callback;
        slot->user = user;
        atomic_store(&slot->kinds, kinds);
        sum_up();
        handle = make_handle(i);
        atomic_store(&slot->handle, handle);
        return handle;
    }
    return 0;
}

/* If two threads remove one callback, the first one removes it and both wait. Inside a callback the
 * caller itself may run it: the slot stays taken. */
int event_callbacks_remove(int handle, bool waits, const struct unwind_origin *origin)
{
    struct slot *slot = handle > 0 ? slot_of(handle) : NULL;
    int expected = handle;
    bool is_inside;

    if (!slot
        || (!atomic_compare_exchange_strong(&slot->handle, &expected, -handle)
            && expected != -handle))
        return ENOENT;
    sum_up();
    is_inside = event_callbacks_is_running(origin);
    while (
        active_callbacks_anyone_in((uint32_t)handle, is_inside ? g_is_reporting.callback : NULL)) {
        if (is_inside || !waits)
            return EBUSY;
        sys_nap(NAP_NS);
    }
    expected = -handle;
    if (!is_inside)
        atomic_compare_exchange_strong(&slot->handle, &expected, 0);
    return 0;
}

/* ---- running callbacks ---- */

static void abandon(void)
{
    if (g_is_reporting.callback)
        active_callbacks_show_nothing(g_is_reporting.callback);
    atomic_signal_fence(memory_order_seq_cst);
    g_is_reporting.frame = 0;
}

static void end_thread(void)
{
    struct callback *own = g_is_reporting.callback;

    abandon();
    g_is_reporting.callback = NULL;
    g_thread.left = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    if (own)
        active_callbacks_leave(own);
}

static bool has_place(void)
{
    const struct unwind_memory *own = &g_thread.unwind;

    if (g_is_reporting.callback)
        return true;
    g_is_reporting.stack_end =
        sys_has_signal_stack_in(own->stack_low, own->stack_high) ? 0 : own->stack_high;
    if ((g_is_reporting.callback = active_callbacks_take()))
        g_thread.left = end_thread;
    return g_is_reporting.callback != NULL;
}

static void emit_all(const struct mtrace_event *event, unsigned who)
{
    const uintptr_t stack_end =
        thread_is_on_own_stack(&g_thread, g_is_reporting.frame) ? g_is_reporting.stack_end : 0;

    for (; who != 0; who &= who - 1) {
        struct slot *slot = &g_slots[__builtin_ctz(who)];
        int handle = atomic_load_explicit(&slot->handle, memory_order_acquire);

        if (handle <= 0
            || !(atomic_load_explicit(&slot->kinds, memory_order_relaxed) & event->kind))
            continue;
        active_callbacks_show(g_is_reporting.callback, (uint32_t)handle, g_is_reporting.frame,
                              stack_end);
        if (atomic_load(&slot->handle) == handle)
            slot->callback(event, slot->user);
        active_callbacks_show_nothing(g_is_reporting.callback);
    }
}

/* TK-4. Uses a system call only if the stacks cannot be compared. */
static bool is_left(const struct unwind_origin *origin)
{
    if (thread_is_on_own_stack(&g_thread, g_is_reporting.frame)
        && thread_is_on_own_stack(&g_thread, origin->cfa) && !sys_is_on_signal_stack())
        return origin->cfa > g_is_reporting.frame;
    return active_callbacks_is_overwritten(active_callbacks_return_at(g_is_reporting.frame),
                                           g_is_reporting.return_to);
}

bool event_callbacks_is_running(const struct unwind_origin *origin)
{
    if (g_is_reporting.frame != 0 && is_left(origin))
        abandon();
    return g_is_reporting.frame != 0;
}

static uint64_t now_ns(void)
{
    uint64_t start_ns = segment_start_ns();
    uint64_t now = clock_now().monotonic_ns;

    return now > start_ns ? now - start_ns : 0;
}

static void count_unreported(void)
{
    atomic_fetch_add_explicit(&g_n_unreported, 1, memory_order_relaxed);
}

static MTRACE_NOINLINE void emit(struct mtrace_event *event)
{
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    const unsigned who = who_asks(event->kind);
    int error = errno;

    if (who == 0)
        return;
    if (!has_place()) {
        count_unreported();
        return;
    }
    event->thread_id = g_thread.index;
    event->time_ns = now_ns();
    g_is_reporting.return_to = *(const uintptr_t *)active_callbacks_return_at(frame);
    atomic_signal_fence(memory_order_seq_cst);
    g_is_reporting.frame = frame;
    atomic_signal_fence(memory_order_seq_cst);
    emit_all(event, who);
    abandon();
    errno = error;
}

static void emit_allocation(const void *block, const struct known_block *fresh)
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

    emit(&event);
}

void event_callbacks_emit_alloc(const void *block, const struct known_block *fresh)
{
    if (fresh->group == MTRACE_GROUP_UNTRACKED)
        return;
    live_block_index_put(block, fresh);
    emit_allocation(block, fresh);
}

static void emit_end(const void *block, const struct known_block *known, uint32_t node)
{
    struct mtrace_event event = {.kind = MTRACE_EVENT_FREE};

    event.group = known->group;
    event.current_group = g_thread.group;
    event.alloc_thread_id = known->thread;
    event.stack_id = node;
    event.alloc_stack_id = known->node;
    event.address = block;
    event.size_bytes = known->size_bytes;
    event.usable_bytes = known->usable_bytes;
    emit(&event);
}

/* Not held: after a siglongjmp out of here, the place is found again (KB-1). */
void event_callbacks_emit_free(const void *block, uint32_t node)
{
    struct known_block known;

    if (live_block_index_take(block, &known))
        emit_end(block, &known, node);
}

void event_callbacks_emit_ended(const void *block, struct known_place *place, uint32_t node)
{
    const struct known_block known = live_block_index_held(place);

    live_block_index_let_go(place);
    emit_end(block, &known, node);
}

/* An indexed block stays indexed when any thread resizes it. */
static struct known_block replace(struct known_place *place, const void *block,
                                  const struct known_block *fresh)
{
    struct known_block old = live_block_index_held(place);

    live_block_index_let_go(place);
    live_block_index_put(block, fresh);
    return old;
}

void event_callbacks_emit_resize(const void *old_block, struct known_place *place,
                                 const void *block, const struct known_block *fresh)
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

    emit(&event);
}

void event_callbacks_emit_move(const void *block, uint32_t group)
{
    struct known_block before;
    struct mtrace_event event = {.kind = MTRACE_EVENT_MOVE};

    if (!live_block_index_move(block, group, &before) || before.group == group)
        return;
    event.group = before.group;
    event.current_group = group;
    event.alloc_thread_id = before.thread;
    event.alloc_stack_id = before.node;
    event.address = block;
    event.size_bytes = before.size_bytes;
    event.usable_bytes = before.usable_bytes;
    emit(&event);
}

/* ---- unreported events ---- */

void event_callbacks_pass_free(const void *block)
{
    struct known_block known;

    if (live_block_index_take(block, &known))
        count_unreported();
}

void event_callbacks_pass_ended(struct known_place *place)
{
    live_block_index_let_go(place);
    count_unreported();
}

void event_callbacks_pass_resize(struct known_place *place, const void *block,
                                 const struct known_block *fresh)
{
    if (!place)
        return;
    replace(place, block, fresh);
    count_unreported();
}

/* A callback may move blocks as it likes. Nothing is lost if no callback asks for moves. */
void event_callbacks_pass_move(const void *block, uint32_t group)
{
    struct known_block before;

    if (live_block_index_move(block, group, &before) && before.group != group
        && who_asks(MTRACE_EVENT_MOVE) != 0)
        count_unreported();
}

/* ---- forks ----------------------------------------------------------------------------------- */

void event_callbacks_forget(void)
{
    for (unsigned i = 0; i < N_SLOTS; i++)
        if (atomic_load(&g_slots[i].handle) == BEING_CHANGED)
            atomic_store(&g_slots[i].handle, 0);
    active_callbacks_forget(g_is_reporting.callback);
}

uint64_t event_callbacks_count_unreported(void)
{
    return atomic_load_explicit(&g_n_unreported, memory_order_relaxed);
}
