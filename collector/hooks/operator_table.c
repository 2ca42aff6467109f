/* SPDX-License-Identifier: MIT */
#include "collector/hooks/operator_table.h"

#include "collector/log/modules.h"
#include "collector/os/loader_lock.h"
#include "collector/os/module_bounds.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static const char *const g_names[2][N_OPERATOR_SLOTS] = {
#define NAME(kind, slot, name) [kind][slot] = #name,
    OPERATOR_NAMES(NAME)
#undef NAME
};

/* An operator of a library that was loaded later. Changed with ld.so's list locked; epoch is 0
 * during a change. */
struct later {
    _Atomic uint32_t epoch;
    _Atomic uintptr_t call, map, start;
};

struct remembered {
    uint32_t epoch; /* 0: nothing */
    uintptr_t call, map, start;
};

struct operator g_operator_table[2][N_OPERATOR_SLOTS];
static struct later g_later[2][N_OPERATOR_SLOTS];
static bool g_is_started; /* written while there is one thread */

static struct operator to_operator(uintptr_t address)
{
    struct operator found = {.is_allocators = false};

    memcpy(&found.call, &address, sizeof(found.call));
    return found;
}

static struct operator find_at_start(int kind, enum operator_slot slot)
{
    const char *name = g_names[kind][slot];
    void *address = real_find(name);
    struct operator found = to_operator((uintptr_t)address);

    found.is_allocators = address && address == real_find_beside_malloc(name);
    return found;
}

void operator_table_find(void)
{
    for (int kind = 0; kind < 2; kind++)
        for (enum operator_slot slot = 0; slot < N_OPERATOR_SLOTS; slot++)
            g_operator_table[kind][slot] = find_at_start(kind, slot);
    g_is_started = true;
}

/* ---- libraries loaded later ------------------------------------------------------------------ */

static struct remembered recall(struct later *later)
{
    struct remembered seen;

    seen.epoch = atomic_load_explicit(&later->epoch, memory_order_acquire);
    seen.call = atomic_load_explicit(&later->call, memory_order_acquire);
    seen.map = atomic_load_explicit(&later->map, memory_order_acquire);
    seen.start = atomic_load_explicit(&later->start, memory_order_acquire);
    if (atomic_load_explicit(&later->epoch, memory_order_relaxed) != seen.epoch)
        seen.epoch = 0;
    return seen;
}

static void remember(struct later *later, uintptr_t call, uint32_t epoch)
{
    struct module_bounds bounds;

    if (!module_bounds_find(call, &bounds))
        return;
    atomic_store_explicit(&later->epoch, 0, memory_order_relaxed);
    atomic_store_explicit(&later->call, call, memory_order_release);
    atomic_store_explicit(&later->map, (uintptr_t)bounds.map, memory_order_release);
    atomic_store_explicit(&later->start, bounds.start, memory_order_release);
    atomic_store_explicit(&later->epoch, epoch, memory_order_release);
}

static bool is_there(const struct remembered *seen)
{
    struct module_bounds bounds;

    return seen->epoch != 0 && module_bounds_find(seen->call, &bounds)
           && (uintptr_t)bounds.map == seen->map && bounds.start == seen->start;
}

/* A caller of the module's operator runs only after ld.so has finished loading it. */
static bool is_finished(const struct link_map *map)
{
    struct module_bounds bounds;

    return module_bounds_find((uintptr_t)map->l_ld, &bounds) && bounds.map == map;
}

/* A handler that does not return would leave ld.so locked, so signals are blocked. Not by
 * signals_block_begin:
 * that checks whether this process records, and may begin a fork child's log. False: another thread
 * has the lock. */
static bool look(const char *name, struct later *later, uint32_t epoch, uintptr_t *ret_call)
{
    struct sys_signals mask;
    bool is_blocked = sys_block_signals(&mask) >= 0;
    bool is_mine = loader_lock_try_nested();

    if (is_mine) {
        *ret_call = (uintptr_t)real_find_if(name, is_finished);
        if (*ret_call && epoch)
            remember(later, *ret_call, epoch);
        loader_lock_leave();
    }
    if (is_blocked)
        sys_unblock_signals(mask);
    return is_mine;
}

struct operator operator_table_get_slow(int kind, enum operator_slot slot)
{
    struct later *later = &g_later[kind][slot];
    uint32_t epoch = modules_epoch();
    struct remembered seen = recall(later);
    uintptr_t call = 0;

    if (!g_is_started)
        return find_at_start(kind, slot);
    if (mtrace_likely(seen.epoch == epoch))
        return to_operator(seen.call);
    if (modules_are_unloading()) {
        if (is_there(&seen))
            return to_operator(seen.call);
        epoch = 0; /* a module found now may be unloaded in the same epoch */
    }
    if (look(g_names[kind][slot], later, epoch, &call))
        return to_operator(call);
    return to_operator(is_there(&seen) ? seen.call : 0);
}
