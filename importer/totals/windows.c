/* SPDX-License-Identifier: MIT */
#include "importer/totals/windows.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <stdlib.h>

void windows_done(struct windows *windows)
{
    free(windows->list);
}

static struct window *last_of(struct windows *windows)
{
    return windows->n ? &windows->list[windows->n - 1] : NULL;
}

/* Sets the sums of a window when the next one begins (WN-1). */
static void settle(struct window *window, const struct window_numbers *numbers)
{
    window->last_allocation = numbers->last_allocation;
    window->allocated_blocks = numbers->allocated_blocks - window->allocated_blocks;
    window->allocated_bytes = numbers->allocated_bytes - window->allocated_bytes;
}

static int begin(struct windows *windows, unsigned by, uint64_t time_ns,
                 const struct window_numbers *before, struct error *err)
{
    struct window *list =
        dynamic_array_reserve(windows->list, &windows->capacity, windows->n + 1, sizeof *list);

    if (!list)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu windows", windows->n);
    windows->list = list;
    list[windows->n++] = (struct window){.start_ns = time_ns,
                                         .started_by = by,
                                         .first_allocation = before->last_allocation + 1,
                                         .allocated_blocks = before->allocated_blocks,
                                         .allocated_bytes = before->allocated_bytes,
                                         .is_open = true};
    return 0;
}

/* Begins the window that exists since the start of the process, or that WN-2 requires. */
static int begin_first(struct windows *windows, const struct window_numbers *numbers,
                       struct error *err)
{
    const struct window_numbers none = {0};

    return windows->n == 0 && (numbers->began_on || numbers->allocated_blocks > 0)
               ? begin(windows, numbers->began_on ? WINDOWS_BY_PROCESS : LOG_SWITCH_UNKNOWN,
                       numbers->start_ns, &none, err)
               : 0;
}

/* Reopens the last window when there are too many (WN-3). */
static void resume(struct windows *windows, struct window *last, uint64_t time_ns)
{
    last->paused_ns += time_ns > last->end_ns ? time_ns - last->end_ns : 0;
    last->is_open = true;
    windows->n_left_out++;
}

int windows_switch(struct windows *windows, bool is_on, unsigned by, uint64_t time_ns,
                   const struct window_numbers *numbers, struct error *err)
{
    int code = begin_first(windows, numbers, err);
    struct window *last = last_of(windows);

    if (code || is_on == (last && last->is_open))
        return code;
    if (last && !is_on) {
        last->is_open = false;
        last->end_ns = time_ns;
        last->ended_by = by;
        return 0;
    }
    if (last && windows->n == windows->most) {
        resume(windows, last, time_ns);
        return 0;
    }
    if (last)
        settle(last, numbers);
    return begin(windows, by, time_ns, numbers, err);
}

bool windows_is_open(const struct windows *windows)
{
    return windows->n > 0 && windows->list[windows->n - 1].is_open;
}

int windows_finish(struct windows *windows, const struct window_numbers *numbers, struct error *err)
{
    int code = begin_first(windows, numbers, err);

    if (code == 0 && windows->n)
        settle(last_of(windows), numbers);
    return code;
}

uint64_t windows_start_ns(const struct windows *windows, uint64_t start_ns)
{
    return windows->n ? windows->list[0].start_ns : start_ns;
}

uint64_t windows_end_ns(const struct windows *windows, uint64_t end_ns)
{
    return windows->n && !windows_is_open(windows) ? windows->list[windows->n - 1].end_ns : end_ns;
}

void windows_leaked_earlier(struct windows *windows, uint64_t allocation_id, uint64_t blocks,
                            uint64_t bytes)
{
    size_t n; /* windows that began before the allocation */

    LOWER_BOUND(n, windows->n, windows->list[n].first_allocation <= allocation_id);
    if (n == 0)
        return;
    windows->list[n - 1].leaked_blocks += blocks;
    windows->list[n - 1].leaked_bytes += bytes;
}

void windows_visit(struct windows *windows, struct checkpoint_io *io)
{
    windows->list = checkpoint_io_array(io, windows->list, &windows->n, &windows->capacity,
                                        CHECKPOINT_MAX, sizeof *windows->list);
    for (size_t i = 0; i < windows->n; i++)
        checkpoint_io_check_bool(io, &windows->list[i].is_open);
    checkpoint_io_u64(io, &windows->n_left_out);
}
