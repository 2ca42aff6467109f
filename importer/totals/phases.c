/* SPDX-License-Identifier: MIT */
#include "importer/totals/phases.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <stdlib.h>
#include <string.h>

void phases_done(struct phases *phases)
{
    free(phases->list);
    free(phases->open);
    free(phases->names);
    intern_done(&phases->texts);
}

static struct phase *open_phase(const struct phases *phases, size_t i)
{
    return &phases->list[phases->open[i]];
}

static void hand_out_peak(struct phases *phases, uint64_t live_bytes)
{
    phases_advance(phases, live_bytes);
    for (size_t i = 0; i < phases->n_open; i++) {
        struct phase *phase = open_phase(phases, i);
        if (phases->window_peak > phase->peak_bytes)
            phase->peak_bytes = phases->window_peak;
    }
    phases->window_peak = live_bytes;
}

static struct phase *add_row(struct phases *phases, size_t *ret_parent)
{
    struct phase *list =
        dynamic_array_reserve(phases->list, &phases->capacity, phases->n + 1, sizeof *list);
    size_t *open = dynamic_array_reserve(phases->open, &phases->open_capacity, phases->n_open + 1,
                                         sizeof *open);

    if (list)
        phases->list = list;
    if (open)
        phases->open = open;
    if (!list || !open)
        return NULL;
    *ret_parent = phases->n_open ? open[phases->n_open - 1] + 1 : 0;
    open[phases->n_open++] = phases->n;
    return &list[phases->n++];
}

static int begin(struct phases *phases, const struct event *event,
                 const struct phase_numbers *numbers, uint64_t last_allocation, struct error *err)
{
    size_t parent = 0;
    struct phase *phase = add_row(phases, &parent);

    if (!phase)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu phases", phases->n);
    *phase = (struct phase){
        .name = event->text,
        .start_ns = event->time_ns,
        .first_allocation = last_allocation + 1,
        .at_start = *numbers,
        .peak_bytes = numbers->live_bytes,
        .number = (uint64_t)event->value,
        .parent = parent,
        .thread = event->thread,
        .is_open = true,
    };
    return 0;
}

/* ---- sums by name ---- */

const char *phases_name(const struct phases *phases, size_t n)
{
    return n < PHASES_NAMES ? intern_get(&phases->texts, (uint32_t)n) : NULL;
}

static struct phase_name *name_at(struct phases *phases, size_t number)
{
    struct phase_name *names =
        dynamic_array_reserve(phases->names, &phases->names_capacity, number + 1, sizeof *names);

    if (!names)
        return NULL;
    phases->names = names;
    if (phases->n_names <= number)
        phases->n_names = number + 1;
    return &names[number];
}

static struct phase_name *get_name(struct phases *phases, const char *text)
{
    size_t size = strlen(text);
    int64_t number = phases->n_names < PHASES_NAMES ? intern_add(&phases->texts, text, size)
                                                    : intern_find(&phases->texts, text, size);

    if (number == INTERN_ABSENT)
        number = PHASES_NAMES;
    return number < 0 ? NULL : name_at(phases, (size_t)number);
}

static int close_phase(struct phases *phases, struct phase *phase,
                       const struct phase_numbers *numbers, uint64_t last_allocation,
                       struct error *err)
{
    const struct phase_numbers *start = &phase->at_start;
    struct phase_name *name = get_name(phases, phase->name);

    if (!name)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu names", phases->n_names);
    phase->last_allocation = last_allocation;
    phase->in_it = (struct phase_numbers){
        .allocated_blocks = numbers->allocated_blocks - start->allocated_blocks,
        .allocated_bytes = numbers->allocated_bytes - start->allocated_bytes,
        .freed_blocks = numbers->freed_blocks - start->freed_blocks,
        .freed_bytes = numbers->freed_bytes - start->freed_bytes,
        .live_bytes = numbers->live_bytes,
    };
    name->phases++;
    name->allocated_blocks += phase->in_it.allocated_blocks;
    name->allocated_bytes += phase->in_it.allocated_bytes;
    name->freed_blocks += phase->in_it.freed_blocks;
    name->freed_bytes += phase->in_it.freed_bytes;
    if (phase->peak_bytes > name->peak_bytes)
        name->peak_bytes = phase->peak_bytes;
    if (!phase->is_open)
        name->ended_ns += phase->end_ns - phase->start_ns;
    return 0;
}

/* Removes phase i from the open ones. */
static void take_out(struct phases *phases, size_t i)
{
    memmove(&phases->open[i], &phases->open[i + 1], (--phases->n_open - i) * sizeof *phases->open);
}

/* Ends a phase; searches the last begun first. */
static int end(struct phases *phases, const struct event *event,
               const struct phase_numbers *numbers, uint64_t last_allocation, bool *ret_is_known,
               struct error *err)
{
    *ret_is_known = false;
    for (size_t i = phases->n_open; i-- > 0;) {
        struct phase *phase = open_phase(phases, i);
        if (phase->number != (uint64_t)event->value)
            continue;
        *ret_is_known = true;
        phase->end_ns = event->time_ns;
        phase->is_open = false;
        int code = close_phase(phases, phase, numbers, last_allocation, err);
        take_out(phases, i);
        return code;
    }
    return 0;
}

int phases_event(struct phases *phases, const struct event *event,
                 const struct phase_numbers *numbers, uint64_t last_allocation, bool *ret_is_known,
                 struct error *err)
{
    hand_out_peak(phases, numbers->live_bytes);
    if (!event->text)
        return end(phases, event, numbers, last_allocation, ret_is_known, err);
    *ret_is_known = phases->n_open < PHASES_OPEN;
    return *ret_is_known ? begin(phases, event, numbers, last_allocation, err) : 0;
}

int phases_finish(struct phases *phases, const struct phase_numbers *numbers,
                  uint64_t last_allocation, struct error *err)
{
    int code = 0;

    hand_out_peak(phases, numbers->live_bytes);
    for (size_t i = 0; code == 0 && i < phases->n_open; i++)
        code = close_phase(phases, open_phase(phases, i), numbers, last_allocation, err);
    return code;
}

/* Number of phases that began before the allocation. */
static size_t find_last(const struct phases *phases, uint64_t allocation_id)
{
    size_t i;

    LOWER_BOUND(i, phases->n, phases->list[i].first_allocation <= allocation_id);
    return i;
}

/* Only the last phase before the allocation and its ancestors can contain it (PS-1). */
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
