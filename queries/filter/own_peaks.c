/* SPDX-License-Identifier: MIT */
#include "queries/filter/own_peaks.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/saturating.h"

#include <stdlib.h>
#include <string.h>

/* ---- sums ---- */

static void change(struct own_peak *peak, int64_t at_ns, struct own_peaks_size size)
{
    if (peak->changed_ns != at_ns && peak->live_bytes > peak->peak_bytes) {
        peak->peak_bytes = peak->live_bytes;
        peak->peak_ns = peak->changed_ns;
        peak->peak_variance = peak->live_variance;
    }
    peak->changed_ns = at_ns;
    saturating_grow(&peak->live_bytes, size.bytes);
    peak->live_variance += size.variance;
}

static bool make_room(struct own_peaks *peaks, size_t stack)
{
    struct own_peak *list = dynamic_array_reserve(peaks->list, &peaks->n, stack + 1, sizeof(*list));

    if (!list)
        return false;
    peaks->list = list;
    return true;
}

/* ---- time ---- */

static void end_until(struct own_peaks *peaks, int64_t at_ns)
{
    struct free_event free_event;

    while (expiry_heap_pop(&peaks->frees, at_ns, &free_event))
        change(&peaks->list[free_event.of], free_event.at_ns,
               (struct own_peaks_size){-free_event.bytes, -free_event.variance});
}

static bool put_free_event(struct own_peaks *peaks, size_t stack, int64_t at_ns,
                           struct own_peaks_size size)
{
    return expiry_heap_push(&peaks->frees, (struct free_event){.at_ns = at_ns,
                                                               .bytes = size.bytes,
                                                               .variance = size.variance,
                                                               .of = stack});
}

bool own_peaks_allocated(struct own_peaks *peaks, size_t stack, int64_t at_ns,
                         struct own_peaks_size size, int64_t end_ns)
{
    if (!make_room(peaks, stack))
        return false;
    end_until(peaks, at_ns);
    change(&peaks->list[stack], at_ns, size);
    return end_ns == INT64_MAX || put_free_event(peaks, stack, end_ns, size);
}

bool own_peaks_joined(struct own_peaks *peaks, size_t stack, int64_t from_ns,
                      struct own_peaks_size size, int64_t end_ns)
{
    const struct own_peaks_size gained = {-size.bytes, -size.variance};

    return make_room(peaks, stack) && put_free_event(peaks, stack, from_ns, gained)
           && (end_ns == INT64_MAX || put_free_event(peaks, stack, end_ns, size));
}

void own_peaks_finish(struct own_peaks *peaks)
{
    end_until(peaks, INT64_MAX);
    for (size_t i = 0; i < peaks->n; i++)
        change(&peaks->list[i], INT64_MAX, (struct own_peaks_size){0, 0});
}

void own_peaks_done(struct own_peaks *peaks)
{
    free(peaks->list);
    expiry_heap_done(&peaks->frees);
    *peaks = (struct own_peaks){0};
}
