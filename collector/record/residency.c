/* SPDX-License-Identifier: MIT */
#include "collector/record/residency.h"

#include "collector/platform/sys.h"
#include "collector/record/record.h"
#include "common/log_format.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

enum {
    PAGE_BYTES = 4096, /* the smallest there is; of larger ones each is asked for several times */
};

/* end 0: free; TAKEN: being filled. */
static struct place {
    _Atomic uintptr_t start, end;
} g_places[RESIDENCY_PLACES];

static const uintptr_t TAKEN = 1;

/* Places from here on were never used. */
static _Atomic unsigned g_n_places;

/* ---- telling ---- */

/* One look at a stretch, told in runs. */
struct look {
    uintptr_t run_start; /* of the run that is going on; 0: none */
    uintptr_t resident_bytes;
    unsigned n_told;
    unsigned n_absent;
};

static void tell(struct look *look, uintptr_t start, uintptr_t end, uint64_t resident_bytes)
{
    uint64_t words[4] = {0, 0, end - start,
                         resident_bytes | (look->n_told++ ? LOG_RESIDENT_CONTINUES : 0)};

    record_event(LOG_RESIDENT, start, words, 4, NULL);
}

/* The page at `at` is in memory or not. The last run is as long as what is left. */
static void take_page(struct look *look, uintptr_t at, bool is_resident)
{
    if (is_resident) {
        if (!look->run_start)
            look->run_start = at;
        look->resident_bytes += PAGE_BYTES;
        return;
    }
    look->n_absent++;
    if (look->run_start && look->n_told < RESIDENCY_MAX_RUNS) {
        tell(look, look->run_start, at, look->resident_bytes);
        look->run_start = look->resident_bytes = 0;
    }
}

/* First how far the look goes. What was told before it fails stays: it was in memory. */
static void look_at(uintptr_t start, uintptr_t end)
{
    unsigned char pages[RESIDENCY_BATCH];
    struct look look = {0};

    tell(&look, start, end, 0);
    for (uintptr_t at = start; at < end;) {
        uintptr_t left = (end - at) / PAGE_BYTES;
        unsigned n = left < RESIDENCY_BATCH ? (unsigned)left : RESIDENCY_BATCH;
        if (look.n_absent > RESIDENCY_MAX_ABSENT
            || sys_residency(at, (size_t)n * PAGE_BYTES, pages) != 0) {
            tell(&look, at, end, LOG_RESIDENT_UNKNOWN);
            return;
        }
        for (unsigned i = 0; i < n; i++)
            take_page(&look, at + (uintptr_t)i * PAGE_BYTES, pages[i] & 1);
        at += (uintptr_t)n * PAGE_BYTES;
    }
    if (look.run_start)
        tell(&look, look.run_start, end, look.resident_bytes);
}

/* ---- places ---- */

static bool place_take(struct place *place, uintptr_t start, uintptr_t end)
{
    uintptr_t free_end = 0;

    if (!atomic_compare_exchange_strong(&place->end, &free_end, TAKEN))
        return false;
    atomic_store_explicit(&place->start, start, memory_order_relaxed);
    atomic_store_explicit(&place->end, end, memory_order_release);
    return true;
}

static void note_used(unsigned n)
{
    unsigned before = g_n_places;

    while (before < n && !atomic_compare_exchange_weak(&g_n_places, &before, n))
        ;
}

static void place_add(uintptr_t start, uintptr_t end)
{
    for (unsigned i = 0; i < RESIDENCY_PLACES; i++) {
        if (place_take(&g_places[i], start, end)) {
            note_used(i + 1);
            return;
        }
    }
    tell(&(struct look){0}, start, end, LOG_RESIDENT_UNKNOWN);
}

/* What lies outside of [start, end) lives on. */
static bool place_cut(struct place *place, uintptr_t start, uintptr_t end)
{
    uintptr_t first = atomic_load_explicit(&place->start, memory_order_relaxed);
    uintptr_t last = atomic_load_explicit(&place->end, memory_order_acquire);

    if (last <= TAKEN || first >= end || last <= start
        || !atomic_compare_exchange_strong(&place->end, &last, TAKEN))
        return false;
    look_at(first > start ? first : start, last < end ? last : end);
    if (first < start) {
        atomic_store_explicit(&place->end, start, memory_order_release);
        if (last > end)
            place_add(end, last);
    } else if (last > end) {
        atomic_store_explicit(&place->start, end, memory_order_relaxed);
        atomic_store_explicit(&place->end, last, memory_order_release);
    } else {
        atomic_store_explicit(&place->end, 0, memory_order_release);
    }
    return true;
}

static uintptr_t page_up(uintptr_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
}

void residency_mapped(const void *start, size_t length, int flags)
{
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS;

    if (length >= RESIDENCY_MIN_BYTES && (flags & (kind | MAP_SHARED | MAP_HUGETLB)) == kind)
        place_add((uintptr_t)start, (uintptr_t)start + page_up(length));
}

bool residency_ends(const void *start, size_t length)
{
    bool has_any = false;
    unsigned n = atomic_load_explicit(&g_n_places, memory_order_acquire);

    for (unsigned i = 0; i < n; i++)
        has_any |= place_cut(&g_places[i], (uintptr_t)start, (uintptr_t)start + page_up(length));
    return has_any;
}

void residency_tell_all(void)
{
    (void)residency_ends(NULL, (size_t)UINTPTR_MAX / PAGE_BYTES * PAGE_BYTES);
}

void residency_forget(void)
{
    for (unsigned i = 0; i < RESIDENCY_PLACES; i++)
        atomic_store_explicit(&g_places[i].end, 0, memory_order_relaxed);
    atomic_store_explicit(&g_n_places, 0, memory_order_relaxed);
}
