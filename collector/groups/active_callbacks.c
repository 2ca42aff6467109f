/* SPDX-License-Identifier: MIT */
#include "collector/groups/active_callbacks.h"

#include "collector/arch/arch.h"
#include "collector/os/memory.h"
#include "collector/os/sys.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

enum {
    FIRST_PLACES = 64, /* of the first table; each is twice as long as the one before */
    MAX_TABLES = 18,
    TURN_SHIFT = 32,
};

/* One cache line each. */
struct callback {
    _Alignas(64) _Atomic uint32_t tid;      /* owner; 0: free */
    uint32_t turn;                          /* makes the values that a thread shows unique */
    _Atomic uint64_t shown;                 /* the callback, and `turn` in the high half; 0: none */
    _Atomic uintptr_t return_at, return_to; /* constant while `shown` is */
    _Atomic uintptr_t stack_end;            /* likewise; 0: unknown */
};

static struct callback g_first[FIRST_PLACES];
static struct callback *_Atomic g_tables[MAX_TABLES] = {g_first};
static _Atomic uint32_t g_n_tables = 1;
static _Atomic uint32_t
    g_next; /* where the search for a free place begins, to spread the threads */

static uint32_t places_before(unsigned table)
{
    return ((1u << table) - 1) * FIRST_PLACES;
}

static uint32_t count_places(void)
{
    return places_before(atomic_load_explicit(&g_n_tables, memory_order_acquire));
}

static struct callback *place_at(uint32_t at)
{
    unsigned table = 31 - (unsigned)__builtin_clz(at / FIRST_PLACES + 1);

    return atomic_load_explicit(&g_tables[table], memory_order_acquire)
           + (at - places_before(table));
}

/* ---- a place for a thread -------------------------------------------------------------------- */

static bool has_thread_exited(uint32_t tid)
{
    return sys_thread_exists((long)tid) == -ESRCH;
}

/* Searches half of the places. The tables are rarely so full that this fails. */
static struct callback *find_free(uint32_t tid, bool asks_kernel)
{
    const uint32_t n = count_places();
    uint32_t at = atomic_fetch_add_explicit(&g_next, 1, memory_order_relaxed);

    for (uint32_t i = 0; i < n / 2; i++, at++) {
        struct callback *place = place_at(at % n);
        uint32_t owner = atomic_load_explicit(&place->tid, memory_order_relaxed);
        if ((owner == 0 || (asks_kernel && has_thread_exited(owner)))
            && atomic_compare_exchange_strong(&place->tid, &owner, tid))
            return place;
    }
    return NULL;
}

/* Two threads that find no place create one table; the second one finds it there. */
static bool add_table(uint32_t n_tables)
{
    size_t size_bytes = sizeof(struct callback) * FIRST_PLACES << n_tables;
    struct callback *none = NULL;
    struct callback *fresh;

    if (n_tables >= MAX_TABLES)
        return false;
    if (!atomic_load_explicit(&g_tables[n_tables], memory_order_acquire)) {
        fresh = memory_map_inherited(size_bytes);
        if (!fresh)
            return false;
        if (!atomic_compare_exchange_strong(&g_tables[n_tables], &none, fresh))
            memory_unmap(fresh, size_bytes);
    }
    atomic_compare_exchange_strong(&g_n_tables, &n_tables, n_tables + 1);
    return true;
}

struct callback *active_callbacks_take(void)
{
    const uint32_t tid = (uint32_t)sys_gettid();
    struct callback *place;
    uint32_t n_tables;

    do {
        n_tables = atomic_load_explicit(&g_n_tables, memory_order_acquire);
        place = find_free(tid, false);
        if (!place)
            place = find_free(tid, true);
    } while (!place && add_table(n_tables));
    if (place)
        active_callbacks_show_nothing(place);
    return place;
}

void active_callbacks_leave(struct callback *callback)
{
    active_callbacks_show_nothing(callback);
    atomic_store_explicit(&callback->tid, 0, memory_order_release);
}

/* ---- showing --------------------------------------------------------------------------------- */

uintptr_t active_callbacks_return_at(uintptr_t frame)
{
    return frame + ARCH_FRAME_BYTES - sizeof(uintptr_t);
}

void active_callbacks_show(struct callback *callback, uint32_t what, uintptr_t frame,
                           uintptr_t stack_end)
{
    const uintptr_t at = active_callbacks_return_at(frame);

    atomic_store_explicit(&callback->return_at, at, memory_order_release);
    atomic_store_explicit(&callback->return_to, *(const uintptr_t *)at, memory_order_release);
    atomic_store_explicit(&callback->stack_end, stack_end, memory_order_release);
    atomic_exchange(&callback->shown, what | (uint64_t)++callback->turn << TURN_SHIFT);
}

void active_callbacks_show_nothing(struct callback *callback)
{
    atomic_store_explicit(&callback->shown, 0, memory_order_release);
}

/* Memory that cannot be read counts as unchanged. */
bool active_callbacks_is_overwritten(uintptr_t return_at, uintptr_t return_to)
{
    uintptr_t now = return_to;
    long n_bytes = sys_copy_own(&now, return_at, sizeof(now));

    return n_bytes == -EFAULT || now != return_to;
}

static bool is_further_out(uint32_t tid, uintptr_t return_at, uintptr_t stack_end)
{
    uintptr_t at = stack_end != 0 ? sys_stack_pointer_of((long)tid) : 0;

    return at > return_at && at <= stack_end;
}

/* TE-2. A thread of which nothing can be found out counts as running the callback. */
static bool is_past(const struct callback *callback)
{
    const uint32_t tid = atomic_load_explicit(&callback->tid, memory_order_relaxed);
    const uintptr_t return_at = atomic_load_explicit(&callback->return_at, memory_order_acquire);
    const uintptr_t return_to = atomic_load_explicit(&callback->return_to, memory_order_acquire);
    const uintptr_t stack_end = atomic_load_explicit(&callback->stack_end, memory_order_acquire);

    return active_callbacks_is_overwritten(return_at, return_to) || has_thread_exited(tid)
           || is_further_out(tid, return_at, stack_end);
}

/* Values are unique: if the same one is shown before and after the look, it was shown all the
 * time. */
static bool is_in(const struct callback *callback, uint32_t what)
{
    const uint64_t shown = atomic_load(&callback->shown);
    bool is_there;

    if ((uint32_t)shown != what)
        return false;
    is_there = !is_past(callback);
    return atomic_load(&callback->shown) == shown && is_there;
}

bool active_callbacks_anyone_in(uint32_t what, const struct callback *own)
{
    for (uint32_t at = count_places(); at-- > 0;) {
        const struct callback *place = place_at(at);
        if (place != own && is_in(place, what))
            return true;
    }
    return false;
}

void active_callbacks_forget(struct callback *own)
{
    for (uint32_t at = count_places(); at-- > 0;) {
        struct callback *place = place_at(at);
        if (place == own)
            atomic_store(&place->tid, (uint32_t)sys_gettid());
        else if (atomic_load_explicit(&place->tid, memory_order_relaxed) != 0)
            active_callbacks_leave(place);
    }
}
