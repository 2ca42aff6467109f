/* SPDX-License-Identifier: MIT */
#include "recorder/pack/elide_clock.h"

#include "lib/base/clock_pair.h"
#include "lib/totals/report_classes.h"

enum {
    MARGIN_NS = 2000, /* error of a reading */
    DRIFT_SHIFT = 10, /* error per elapsed time: at most 1/2^10 */
};

static double rate_of(const struct elide_clock *clock, uint64_t ticks, uint64_t monotonic_ns)
{
    return clock_pair_rate(clock->start_ticks, clock->start_ns, ticks, monotonic_ns);
}

void elide_clock_begin(struct elide_clock *clock, const struct log_header *file)
{
    if (clock->ticks_per_ns > 0)
        return;
    clock->start_ticks = file->start_ticks;
    clock->start_ns = file->start_monotonic_ns;
    if (file->last_monotonic_ns - file->start_monotonic_ns <= ELIDE_CLOCK_MAX)
        clock->ticks_per_ns = rate_of(clock, file->last_ticks, file->last_monotonic_ns);
    if (clock->ticks_per_ns > 0) {
        clock->ticks = clock->rate_ticks = file->last_ticks;
        clock->ns = file->last_monotonic_ns - file->start_monotonic_ns;
    }
}

int64_t elide_clock_ns(const struct elide_clock *clock, uint64_t ticks)
{
    return (int64_t)clock->ns
           + elide_clock_whole((double)(int64_t)(ticks - clock->ticks) / clock->ticks_per_ns);
}

int64_t elide_clock_margin_ns(const struct elide_clock *clock, uint64_t ticks)
{
    double distance = (double)(int64_t)(ticks - clock->ticks);

    return MARGIN_NS
           + elide_clock_whole((distance < 0 ? -distance : distance) / clock->ticks_per_ns)
                 / (1 << DRIFT_SHIFT);
}

/* The previous reading may be the wrong one: after two that disagree, the later one counts. */
bool elide_clock_read(struct elide_clock *clock, const struct log_segment *segment)
{
    uint64_t ns = segment->base_monotonic_ns - clock->start_ns;
    int64_t margin;
    int64_t difference;

    if (clock->ticks_per_ns == 0 || ns > ELIDE_CLOCK_MAX)
        return false;
    margin = elide_clock_margin_ns(clock, segment->base_ticks);
    difference = (int64_t)ns - elide_clock_ns(clock, segment->base_ticks);
    clock->ticks = segment->base_ticks;
    clock->ns = ns;
    if (segment->base_ticks > clock->rate_ticks) {
        double rate = rate_of(clock, segment->base_ticks, segment->base_monotonic_ns);
        clock->ticks_per_ns = rate > 0 ? rate : clock->ticks_per_ns;
        clock->rate_ticks = segment->base_ticks;
    }
    return difference >= -margin && difference <= margin;
}

int64_t elide_clock_bucket_end(int64_t since_ns)
{
    unsigned shift = REPORT_GRID_FIRST_SHIFT;

    while (since_ns >> shift >> REPORT_GRID_BUCKETS_LOG2)
        shift++;
    return ((since_ns >> shift) + 1) << shift;
}
