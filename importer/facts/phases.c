/* SPDX-License-Identifier: MIT */
#include "importer/facts/phases.h"

#include "support/growing.h"
#include "support/lower_bound.h"

#include <stdlib.h>
#include <string.h>

void phases_done(struct phases *phases)
{
    free(phases->list);
    free(phases->open);
}

static void hand_out_peak(struct phases *phases, uint64_t live_bytes)
{
    phases_advance(phases, live_bytes);
    for (size_t i = 0; i < phases->n_open; i++) {
        struct phase *phase = &phases->list[phases->open[i]];
        if (phases->window_peak > phase->peak_bytes)
            phase->peak_bytes = phases->window_peak;
    }
    phases->window_peak = live_bytes;
}

static int begin(struct phases *phases, const struct event *event,
                 const struct phase_figures *figures, uint64_t last_allocation, struct error *err)
{
    struct phase *list =
        growing_reserve(phases->list, &phases->capacity, phases->n + 1, sizeof *list);
    size_t *open =
        growing_reserve(phases->open, &phases->open_capacity, phases->n_open + 1, sizeof *open);

    if (list)
        phases->list = list;
    if (open)
        phases->open = open;
    if (!list || !open)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu phases", phases->n);
    list[phases->n] = (struct phase){
        .name = event->text,
        .start_ns = event->time_ns,
        .first_allocation = last_allocation + 1,
        .at_start = *figures,
        .peak_bytes = figures->live_bytes,
        .number = (uint64_t)event->value,
        .parent = phases->n_open ? phases->open[phases->n_open - 1] + 1 : 0,
        .thread = event->thread,
        .is_open = true,
    };
    open[phases->n_open++] = phases->n++;
    return 0;
}

static void close_phase(struct phase *phase, const struct phase_figures *figures,
                        uint64_t last_allocation)
{
    const struct phase_figures *start = &phase->at_start;

    phase->last_allocation = last_allocation;
    phase->in_it = (struct phase_figures){
        .allocated_blocks = figures->allocated_blocks - start->allocated_blocks,
        .allocated_bytes = figures->allocated_bytes - start->allocated_bytes,
        .freed_blocks = figures->freed_blocks - start->freed_blocks,
        .freed_bytes = figures->freed_bytes - start->freed_bytes,
        .live_bytes = figures->live_bytes,
    };
}

/* The one begun last is looked at first. */
static bool end(struct phases *phases, const struct event *event,
                const struct phase_figures *figures, uint64_t last_allocation)
{
    for (size_t i = phases->n_open; i-- > 0;) {
        struct phase *phase = &phases->list[phases->open[i]];
        if (phase->number != (uint64_t)event->value)
            continue;
        close_phase(phase, figures, last_allocation);
        phase->end_ns = event->time_ns;
        phase->is_open = false;
        memmove(&phases->open[i], &phases->open[i + 1],
                (--phases->n_open - i) * sizeof *phases->open);
        return true;
    }
    return false;
}

int phases_event(struct phases *phases, const struct event *event,
                 const struct phase_figures *figures, uint64_t last_allocation, bool *ret_is_known,
                 struct error *err)
{
    hand_out_peak(phases, figures->live_bytes);
    *ret_is_known =
        event->text ? phases->n_open < PHASES_OPEN : end(phases, event, figures, last_allocation);
    return event->text && *ret_is_known ? begin(phases, event, figures, last_allocation, err) : 0;
}

void phases_finish(struct phases *phases, const struct phase_figures *figures,
                   uint64_t last_allocation)
{
    hand_out_peak(phases, figures->live_bytes);
    for (size_t i = 0; i < phases->n_open; i++)
        close_phase(&phases->list[phases->open[i]], figures, last_allocation);
}

/* Number of phases that began before the block was born. */
static size_t find_last(const struct phases *phases, uint64_t allocation_id)
{
    size_t i;

    LOWER_BOUND(i, phases->n, phases->list[i].first_allocation <= allocation_id);
    return i;
}

/* PS-1 */
void phases_leaked(struct phases *phases, uint64_t allocation_id, uint64_t blocks, uint64_t bytes)
{
    for (size_t i = find_last(phases, allocation_id); i != 0; i = phases->list[i - 1].parent) {
        struct phase *phase = &phases->list[i - 1];
        if (allocation_id <= phase->last_allocation) {
            phase->leaked_blocks += blocks;
            phase->leaked_bytes += bytes;
        }
    }
}

void phases_visit(struct phases *phases, uint32_t n_threads, struct state_io *io)
{
    phases->list = state_array(io, phases->list, &phases->n, &phases->capacity, STATE_MOST,
                               sizeof *phases->list);
    for (size_t i = 0; i < phases->n; i++) {
        struct phase *phase = &phases->list[i];
        state_text(io, &phase->name, NULL);
        state_check_bool(io, &phase->is_open);
        state_check(io, phase->name && phase->parent <= i && phase->thread <= n_threads, "a phase");
    }
    phases->open = state_array(io, phases->open, &phases->n_open, &phases->open_capacity,
                               PHASES_OPEN, sizeof *phases->open);
    for (size_t i = 0; i < phases->n_open; i++)
        state_check(io, phases->open[i] < phases->n, "an open phase");
    state_u64(io, &phases->window_peak);
    if (state_io_code(io))
        phases->n = phases->n_open = 0;
}
