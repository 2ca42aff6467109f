/* SPDX-License-Identifier: MIT */
#include "queries/filter/own_peaks.h"

#include "support/growing.h"
#include "support/saturating.h"

#include <stdlib.h>
#include <string.h>

/* ---- sums ---- */

static void change(struct own_peak *peak, int64_t at_ns, int64_t bytes)
{
    if (peak->changed_ns != at_ns && peak->live_bytes > peak->peak_bytes) {
        peak->peak_bytes = peak->live_bytes;
        peak->peak_ns = peak->changed_ns;
    }
    peak->changed_ns = at_ns;
    saturating_grow(&peak->live_bytes, bytes);
}

static bool make_room(struct own_peaks *peaks, size_t stack)
{
    struct own_peak *list = growing_reserve(peaks->list, &peaks->n, stack + 1, sizeof(*list));

    if (!list)
        return false;
    peaks->list = list;
    return true;
}

/* ---- time ---- */

static void end_until(struct own_peaks *peaks, int64_t at_ns)
{
    struct death death;

    while (death_queue_pop(&peaks->deaths, at_ns, &death))
        change(&peaks->list[death.of], death.at_ns, -death.bytes);
}

bool own_peaks_born(struct own_peaks *peaks, size_t stack, int64_t at_ns, int64_t size_bytes,
                    int64_t end_ns)
{
    if (!make_room(peaks, stack))
        return false;
    end_until(peaks, at_ns);
    change(&peaks->list[stack], at_ns, size_bytes);
    return end_ns == INT64_MAX
           || death_queue_push(&peaks->deaths, (struct death){end_ns, 0, size_bytes, stack});
}

bool own_peaks_joined(struct own_peaks *peaks, size_t stack, int64_t from_ns, int64_t size_bytes,
                      int64_t end_ns)
{
    return make_room(peaks, stack)
           && death_queue_push(&peaks->deaths, (struct death){from_ns, 0, -size_bytes, stack})
           && (end_ns == INT64_MAX
               || death_queue_push(&peaks->deaths, (struct death){end_ns, 0, size_bytes, stack}));
}

void own_peaks_finish(struct own_peaks *peaks)
{
    end_until(peaks, INT64_MAX);
    for (size_t i = 0; i < peaks->n; i++)
        change(&peaks->list[i], INT64_MAX, 0);
}

void own_peaks_done(struct own_peaks *peaks)
{
    free(peaks->list);
    death_queue_done(&peaks->deaths);
    *peaks = (struct own_peaks){0};
}
