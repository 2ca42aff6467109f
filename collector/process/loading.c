/* SPDX-License-Identifier: MIT */
#include "collector/process/loading.h"

#include "collector/log/modules.h"
#include "collector/log/segment.h"
#include "collector/os/module_bounds.h"
#include "collector/os/sys.h"
#include "collector/process/got_rebinding.h"
#include "collector/thread/state.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    /* events while modules are loaded: the loading thread looks at each of the first ones, and any
     * thread looks at each power of two */
    FIRST_LOOKS = 64,
    MAX_LOOKS = 1 << 20,
    /* events during which a module that ld.so began to load is awaited; the load may fail */
    MAX_AWAITING = 1 << 12,
    NAP_NS = 10000,
    MAX_NAPS = 100,
};

static _Atomic uint32_t g_n_looks;
static _Atomic long g_loader_tid;   /* the thread in which ld.so loads; one at a time */
static _Atomic bool g_is_expecting; /* LO-1 */
static _Atomic uint32_t g_n_notes;  /* times when a module may have come */
static _Atomic uint32_t g_n_done;   /* notes before the begin of the last complete look */
static _Atomic bool
    g_is_awaiting; /* ld.so has made a link map, which it appends to its list later */

static bool is_following(void)
{
    return state_config()->is_attached
           || atomic_load_explicit(&g_is_expecting, memory_order_relaxed);
}

void loading_begin(void)
{
    module_bounds_note_start();
}

void loading_expect(void)
{
    if (state_is_off() || state_config()->is_attached)
        return;
    module_bounds_note_start(); /* a constructor may have run before ours */
    if (!got_rebinding_prepare())
        return;
    atomic_store_explicit(&g_is_expecting, true, memory_order_relaxed);
    if (!state_is_recording()) /* ld.so's calloc requests no look then */
        atomic_fetch_add(&g_n_notes, 1);
}

static void raise_to(_Atomic uint32_t *most, uint32_t n)
{
    if (atomic_load_explicit(most, memory_order_relaxed) < n)
        atomic_store_explicit(most, n, memory_order_relaxed);
}

static void count(const struct got_rebinding_found *found)
{
    struct signals_block quiet;
    struct log_header *log;

    if ((found->n_bound | found->n_foreign | found->n_elsewhere) == 0
        || !signals_block_begin(&quiet))
        return;
    log = segment_log();
    atomic_fetch_add_explicit(&log->n_deepbound, found->n_bound, memory_order_relaxed);
    raise_to(&log->n_foreign, found->n_foreign);
    raise_to(&log->n_elsewhere, found->n_elsewhere);
    signals_block_end(&quiet);
}

/* A module that comes during a look needs another look. _dl_find_object_update frees a block after
 * it made a module known, and before ld.so calls the constructors. That event makes the first look
 * that finds the module. A later look misses the constructors. */
static bool look(bool is_late, bool *ret_is_busy)
{
    const uint32_t n_notes = atomic_load(&g_n_notes);
    struct got_rebinding_found found;
    bool is_all;

    is_all = got_rebinding_follow(&found);
    *ret_is_busy = found.is_busy;
    if (found.n_new || atomic_load_explicit(&g_n_looks, memory_order_relaxed) > MAX_AWAITING)
        atomic_store_explicit(&g_is_awaiting, false, memory_order_relaxed);
    is_all &= !atomic_load_explicit(&g_is_awaiting, memory_order_relaxed);
    if (is_all)
        atomic_store(&g_n_done, n_notes);
    if (!is_late)
        found.n_bound = 0;
    count(&found);
    return is_all;
}

/* A concurrent look is over soon. The thread that holds ld.so's lock may be waiting for the caller,
 * so the number of naps is limited. */
void loading_look(void)
{
    bool is_busy = true;

    for (int n = 0; is_busy && n < MAX_NAPS; n++) {
        if (atomic_load_explicit(&g_n_done, memory_order_relaxed)
                == atomic_load_explicit(&g_n_notes, memory_order_relaxed)
            || !state_is_recording())
            return;
        (void)look(true, &is_busy);
        if (is_busy)
            sys_nap(NAP_NS);
    }
}

static bool is_due(uint32_t n)
{
    return (n & (n - 1)) == 0
           || (n <= FIRST_LOOKS
               && atomic_load_explicit(&g_loader_tid, memory_order_relaxed) == sys_gettid());
}

void loading_handle(void)
{
    bool is_busy;
    uint32_t n;

    if (!is_following() || !state_is_recording())
        return;
    n = atomic_fetch_add_explicit(&g_n_looks, 1, memory_order_relaxed) + 1;
    if ((!is_due(n) || !look(n > FIRST_LOOKS, &is_busy)) && n < MAX_LOOKS)
        state_set_command_pending();
}

void loading_note(bool is_module)
{
    struct signals_block quiet;

    if (signals_block_begin(&quiet)) {
        modules_check_unloaded();
        signals_block_end(&quiet);
    }
    if (!is_following())
        return;
    if (is_module)
        atomic_store_explicit(&g_is_awaiting, true, memory_order_relaxed);
    atomic_store_explicit(&g_loader_tid, sys_gettid(), memory_order_relaxed);
    atomic_store_explicit(&g_n_looks, 0, memory_order_relaxed);
    atomic_fetch_add(&g_n_notes, 1);
    state_set_command_pending();
}

void loading_count_pointer(void)
{
    struct signals_block quiet;

    if (!signals_block_begin(&quiet))
        return;
    atomic_fetch_add_explicit(&segment_log()->n_pointers, 1, memory_order_relaxed);
    signals_block_end(&quiet);
}
