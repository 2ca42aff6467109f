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

/* ---- the queue ---- */

static void swap(struct own_death *a, struct own_death *b)
{
    struct own_death kept = *a;

    *a = *b;
    *b = kept;
}

static bool push(struct own_peaks *peaks, struct own_death death)
{
    size_t at = peaks->n_queue;
    struct own_death *queue =
        growing_reserve(peaks->queue, &peaks->capacity, at + 1, sizeof(*queue));

    if (!queue)
        return false;
    peaks->queue = queue;
    queue[peaks->n_queue++] = death;
    for (; at > 0 && queue[at].at_ns < queue[(at - 1) / 2].at_ns; at = (at - 1) / 2)
        swap(&queue[at], &queue[(at - 1) / 2]);
    return true;
}

static struct own_death pop(struct own_peaks *peaks)
{
    struct own_death *queue = peaks->queue;
    struct own_death first = queue[0];
    size_t at = 0;

    queue[0] = queue[--peaks->n_queue];
    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < peaks->n_queue && queue[child + 1].at_ns < queue[child].at_ns)
            child++;
        if (child >= peaks->n_queue || queue[at].at_ns <= queue[child].at_ns)
            return first;
        swap(&queue[at], &queue[child]);
        at = child;
    }
}

static void end_until(struct own_peaks *peaks, int64_t at_ns)
{
    while (peaks->n_queue > 0 && peaks->queue[0].at_ns <= at_ns) {
        struct own_death death = pop(peaks);

        change(&peaks->list[death.stack], death.at_ns, -death.size_bytes);
    }
}

bool own_peaks_born(struct own_peaks *peaks, size_t stack, int64_t at_ns, int64_t size_bytes,
                    int64_t end_ns)
{
    if (!make_room(peaks, stack))
        return false;
    end_until(peaks, at_ns);
    change(&peaks->list[stack], at_ns, size_bytes);
    return end_ns == INT64_MAX || push(peaks, (struct own_death){end_ns, size_bytes, stack});
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
    free(peaks->queue);
    *peaks = (struct own_peaks){0};
}
