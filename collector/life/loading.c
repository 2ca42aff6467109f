/* SPDX-License-Identifier: MIT */
#include "collector/life/loading.h"

#include "collector/attached/references.h"
#include "collector/log/modules.h"
#include "collector/log/segment.h"
#include "collector/record/quiet.h"
#include "collector/record/state.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    /* events while modules are loaded; a look is made at each of the first ones, and then at each power of two */
    FIRST_LOOKS = 64,
    MOST_LOOKS = 1 << 20,
};

static _Atomic uint32_t g_n_looks;
static _Atomic bool g_is_expecting; /* LO-1 */
static _Atomic bool g_is_due;       /* a module may have come since the last look */

static bool is_following(void)
{
    return state_config()->is_attached
           || atomic_load_explicit(&g_is_expecting, memory_order_relaxed);
}

void loading_begin(void)
{
    references_note_start();
}

void loading_expect(void)
{
    if (state_is_off() || state_config()->is_attached || !references_prepare())
        return;
    atomic_store_explicit(&g_is_expecting, true, memory_order_relaxed);
    if (!state_is_recording()) /* ld.so's calloc asks for no look then */
        atomic_store(&g_is_due, true);
}

static void count(const struct references_found *found)
{
    struct quiet quiet;
    struct log_file *log;

    if ((found->n_bound == 0 && found->n_elsewhere == 0) || !quiet_begin(&quiet))
        return;
    log = segment_log();
    atomic_fetch_add_explicit(&log->n_deepbound, found->n_bound, memory_order_relaxed);
    if (atomic_load_explicit(&log->n_elsewhere, memory_order_relaxed) < found->n_elsewhere)
        atomic_store_explicit(&log->n_elsewhere, found->n_elsewhere, memory_order_relaxed);
    quiet_end(&quiet);
}

/*
 * A module that comes while we look sets g_is_due again. _dl_find_object_update frees a block once it has made a module known, and before ld.so
 * calls the constructors: that event makes the first look which finds the module. A look that finds it later is too late for these.
 */
static bool look(bool is_late)
{
    struct references_found found = {0, 0};
    bool is_all;

    atomic_store(&g_is_due, false);
    is_all = references_follow(&found);
    if (!is_all)
        atomic_store(&g_is_due, true);
    if (!is_late)
        found.n_bound = 0;
    count(&found);
    return is_all;
}

void loading_look(void)
{
    if (atomic_load_explicit(&g_is_due, memory_order_relaxed) && state_is_recording())
        (void)look(true);
}

void loading_obey(void)
{
    uint32_t n;

    if (!is_following() || !state_is_recording())
        return;
    n = atomic_fetch_add_explicit(&g_n_looks, 1, memory_order_relaxed) + 1;
    if (((n > FIRST_LOOKS && (n & (n - 1)) != 0) || !look(n > FIRST_LOOKS)) && n < MOST_LOOKS)
        state_nudge();
}

void loading_note(void)
{
    struct quiet quiet;

    if (quiet_begin(&quiet)) {
        modules_check_unloaded();
        quiet_end(&quiet);
    }
    if (!is_following())
        return;
    atomic_store(&g_is_due, true);
    atomic_store_explicit(&g_n_looks, 0, memory_order_relaxed);
    state_nudge();
}

void loading_count_pointer(void)
{
    struct quiet quiet;

    if (!quiet_begin(&quiet))
        return;
    atomic_fetch_add_explicit(&segment_log()->n_pointers, 1, memory_order_relaxed);
    quiet_end(&quiet);
}
