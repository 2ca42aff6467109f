/* SPDX-License-Identifier: MIT */
#include "collector/events/resident_pages.h"

#include "collector/arch/arch.h"
#include "collector/events/record.h"
#include "collector/os/sys.h"
#include "lib/abi/log_format.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

/* end 0: free; TAKEN: being filled. */
static struct place {
    _Atomic uintptr_t start, end;
} g_places[RESIDENT_PAGES_PLACES];

static const uintptr_t TAKEN = 1;

/* Above all user addresses, also with five-level page tables. */
static const uintptr_t ADDRESS_END =
    (uintptr_t)(sizeof(uintptr_t) > 4 ? UINT64_C(1) << 56 : UINT32_MAX);

/* Number of places that were ever used. */
static _Atomic unsigned g_n_places;

/* ---- reporting ---- */

/* One look at a range, reported in runs. */
struct look {
    uintptr_t page_bytes;
    uintptr_t run_start; /* of the current run; 0: none */
    uintptr_t resident_bytes;
    unsigned n_reported;
    unsigned n_absent;
};

static void emit(struct look *look, uintptr_t start, uintptr_t end, uint64_t resident_bytes)
{
    uint64_t words[4] = {0, 0, end - start,
                         resident_bytes | (look->n_reported++ ? LOG_RESIDENT_CONTINUES : 0)};

    record_event(LOG_RESIDENT, start, words, 4, NULL);
}

/* Adds the page at `at`. The last run extends to the end of the range. */
static void take_page(struct look *look, uintptr_t at, bool is_resident)
{
    if (is_resident) {
        if (!look->run_start)
            look->run_start = at;
        look->resident_bytes += look->page_bytes;
        return;
    }
    look->n_absent++;
    if (look->run_start && look->n_reported < RESIDENT_PAGES_MAX_RUNS) {
        emit(look, look->run_start, at, look->resident_bytes);
        look->run_start = look->resident_bytes = 0;
    }
}

/* The first event covers the whole range. Runs that were reported before the look fails stay
 * valid. */
static void look_at(uintptr_t start, uintptr_t end)
{
    unsigned char pages[RESIDENT_PAGES_BATCH];
    struct look look = {.page_bytes = sys_page_bytes()};

    emit(&look, start, end, 0);
    for (uintptr_t at = start; end - at >= look.page_bytes;) {
        uintptr_t left = (end - at) / look.page_bytes;
        unsigned n = left < RESIDENT_PAGES_BATCH ? (unsigned)left : RESIDENT_PAGES_BATCH;
        if (look.n_absent > RESIDENT_PAGES_MAX_ABSENT
            || sys_residency(at, n * look.page_bytes, pages) != 0) {
            if (look.run_start)
                emit(&look, look.run_start, at, look.resident_bytes);
            emit(&look, at, end, LOG_RESIDENT_UNKNOWN);
            return;
        }
        for (unsigned i = 0; i < n; i++)
            take_page(&look, at + i * look.page_bytes, pages[i] & 1);
        at += n * look.page_bytes;
    }
    if (look.run_start)
        emit(&look, look.run_start, end, look.resident_bytes);
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
    for (unsigned i = 0; i < RESIDENT_PAGES_PLACES; i++) {
        if (place_take(&g_places[i], start, end)) {
            note_used(i + 1);
            return;
        }
    }
    emit(&(struct look){0}, start, end, LOG_RESIDENT_UNKNOWN);
}

/* Takes [*start, *end) out of the place, as far as it lies there. Parts outside stay. */
static bool place_cut(struct place *place, uintptr_t *start, uintptr_t *end)
{
    const uintptr_t from = *start;
    const uintptr_t to = *end;
    uintptr_t last = atomic_load_explicit(&place->end, memory_order_acquire);
    uintptr_t first;

    if (last <= TAKEN || last <= from
        || atomic_load_explicit(&place->start, memory_order_relaxed) >= to
        || !atomic_compare_exchange_strong(&place->end, &last, TAKEN))
        return false;
    /* Only now the place is ours: the start read above may be that of another mapping than the
     * end. */
    first = atomic_load_explicit(&place->start, memory_order_relaxed);
    if (first >= to) {
        atomic_store_explicit(&place->end, last, memory_order_release);
        return false;
    }
    *start = first > from ? first : from;
    *end = last < to ? last : to;
    if (first < from) {
        atomic_store_explicit(&place->end, from, memory_order_release);
        if (last > to)
            place_add(to, last);
    } else if (last > to) {
        atomic_store_explicit(&place->start, to, memory_order_relaxed);
        atomic_store_explicit(&place->end, last, memory_order_release);
    } else {
        atomic_store_explicit(&place->end, 0, memory_order_release);
    }
    return true;
}

static void note_cut(struct resident_pages_cut *cut, uintptr_t start, uintptr_t end)
{
    struct resident_pages_piece *others = &cut->others;

    if (cut->n < RESIDENT_PAGES_MAX_PIECES) {
        cut->pieces[cut->n++] = (struct resident_pages_piece){start, end};
        return;
    }
    if (others->end == 0 || start < others->start)
        others->start = start;
    if (end > others->end)
        others->end = end;
}

static void cut_all(uintptr_t start, uintptr_t end, struct resident_pages_cut *cut)
{
    unsigned n = atomic_load_explicit(&g_n_places, memory_order_acquire);

    for (unsigned i = 0; i < n; i++) {
        uintptr_t from = start;
        uintptr_t to = end;
        if (!place_cut(&g_places[i], &from, &to))
            continue;
        look_at(from, to);
        note_cut(cut, from, to);
    }
}

static uintptr_t page_up(uintptr_t bytes)
{
    return (bytes + sys_page_bytes() - 1) & ~(uintptr_t)(sys_page_bytes() - 1);
}

void resident_pages_mapped(const void *start, size_t length, int flags)
{
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS;

    if (length >= RESIDENT_PAGES_MIN_BYTES && (flags & (kind | MAP_SHARED | MAP_HUGETLB)) == kind)
        place_add((uintptr_t)start, (uintptr_t)start + page_up(length));
}

bool resident_pages_ends(const void *start, size_t length, struct resident_pages_cut *ret_cut)
{
    uintptr_t from = (uintptr_t)start;

    ret_cut->n = 0;
    ret_cut->others = (struct resident_pages_piece){0, 0};
    if (from % sys_page_bytes() != 0 || length == 0 || from > ADDRESS_END
        || length > ADDRESS_END - from)
        return false;
    cut_all(from, from + page_up(length), ret_cut);
    return true;
}

void resident_pages_goes_on(const struct resident_pages_cut *cut)
{
    for (unsigned i = 0; i < cut->n; i++)
        place_add(cut->pieces[i].start, cut->pieces[i].end);
    if (cut->others.end)
        emit(&(struct look){0}, cut->others.start, cut->others.end, LOG_RESIDENT_UNKNOWN);
}

void resident_pages_emit_all(void)
{
    struct resident_pages_cut cut;

    (void)resident_pages_ends(NULL, ADDRESS_END, &cut);
}

void resident_pages_forget(void)
{
    for (unsigned i = 0; i < RESIDENT_PAGES_PLACES; i++)
        atomic_store_explicit(&g_places[i].end, 0, memory_order_relaxed);
    atomic_store_explicit(&g_n_places, 0, memory_order_relaxed);
}
