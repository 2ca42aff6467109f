/* SPDX-License-Identifier: MIT */
#include "lib/base/progress.h"

#include "lib/base/monotonic.h"

#include <inttypes.h>

enum {
    BAR_CELLS = 24
};

#define REDRAW_NS UINT64_C(100000000)
#define SECOND_NS UINT64_C(1000000000)

void progress_init(struct progress *progress, FILE *stream,
                   const volatile sig_atomic_t *interrupted)
{
    *progress = (struct progress){.stream = stream, .interrupted = interrupted};
}

void progress_begin(struct progress *progress, const char *phase, const char *unit)
{
    progress->phase = phase;
    progress->unit = unit;
    progress->started_ns = monotonic_now_ns();
    progress->drawn_ns = progress->started_ns;
}

static void draw(struct progress *progress, uint64_t n_done, uint64_t n_total, uint64_t now_ns)
{
    double elapsed = (double)(now_ns - progress->started_ns) / (double)SECOND_NS;
    double share = n_total ? (double)n_done / (double)n_total : 0;
    double rate = elapsed > 0 ? (double)n_done / elapsed : 0;
    char bar[BAR_CELLS + 1];

    if (share > 1)
        share = 1;
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i < (int)(share * BAR_CELLS) ? '#' : '.';
    bar[BAR_CELLS] = '\0';
    fprintf(progress->stream, "\r%-12s [%s] %3.0f %%  %.2f M %s/s  ", progress->phase, bar,
            share * 100, rate / 1e6, progress->unit);
    if (share > 0 && share < 1)
        fprintf(progress->stream, "%.0f s left", elapsed / share - elapsed);
    fputs("\033[K", progress->stream);
    fflush(progress->stream);
}

int progress_update(struct progress *progress, uint64_t n_done, uint64_t n_total, struct error *err)
{
    if (progress->interrupted && *progress->interrupted)
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    if (!progress->stream)
        return 0;
    uint64_t now_ns = monotonic_now_ns();
    if (now_ns - progress->drawn_ns < REDRAW_NS)
        return 0;
    progress->drawn_ns = now_ns;
    draw(progress, n_done, n_total, now_ns);
    return 0;
}

void progress_end(struct progress *progress, uint64_t n_done)
{
    if (!progress->stream)
        return;
    draw(progress, n_done, n_done ? n_done : 1, monotonic_now_ns());
    fputs("\r\033[K", progress->stream);
    fflush(progress->stream);
}
