/* SPDX-License-Identifier: MIT */
/*
 * statistics_properties: properties of the statistics of every log set, and limits of their cost.
 *
 * Model:   for fuzz targets: pass 1 and pass 2 as an import runs them, without a database; rows,
 *          totals, timelines and heaps are compared with each other.
 * Failure: abort().
 */
#ifndef MTRACE_TESTS_FUZZ_STATISTICS_PROPERTIES_H
#define MTRACE_TESTS_FUZZ_STATISTICS_PROPERTIES_H

#include "importer/read/sample_stream.h"
#include "importer/totals/statistics.h"
#include "tests/fuzz/log_set_properties.h"

enum {
    STATISTICS_PROPERTIES_PROCESSES = 16
};

/* Sums over rows, by process. */
struct row_sums {
    uint64_t blocks, bytes, ended, ended_bytes, leaked, leaked_bytes;
};

struct statistics_seen {
    struct statistics *statistics;
    struct log_set *set;
    uint64_t n_reported; /* rows that the sink received */
    struct row_sums sums[STATISTICS_PROPERTIES_PROCESSES + 1];
};

static inline int see_event(void *context, const struct event *event, struct error *err)
{
    struct statistics_seen *seen = context;

    (void)err;
    require(event->process >= 1 && event->kind != EVENT_LOST);
    seen->n_reported++;
    return 0;
}

static inline int see_mapping(void *context, const struct mapping *piece, struct error *err)
{
    struct statistics_seen *seen = context;

    (void)err;
    require(piece->mmap_id >= piece->call_id && piece->call_id >= 1);
    require(piece->length % 4096 == 0);
    require(piece->unmapped_ns == MAPPINGS_NEVER || piece->unmapped_ns >= piece->mapped_ns);
    seen->n_reported++;
    return 0;
}

static inline int see_memory(void *context, const struct memory_sample *sample, struct error *err)
{
    struct statistics_seen *seen = context;

    (void)err;
    require(sample->process >= 1);
    uint64_t sum = 0;
    for (int i = 0; i < MEMORY_PARTS; i++)
        sum += sample->parts[i];
    require(sample->parts[0] == UINT64_MAX || sum == sample->rss_bytes);
    seen->n_reported++;
    return 0;
}

static inline int see_snapshot(void *context, const struct snapshot *snapshot, struct error *err)
{
    struct statistics_seen *seen = context;

    (void)err;
    for (size_t i = 0; i < snapshot->n_stacks; i++)
        require(i == 0 || snapshot->stacks[i - 1].backtrace < snapshot->stacks[i].backtrace);
    seen->n_reported += snapshot->n_stacks;
    return 0;
}

static inline int feed_sample(void *context, const struct sample *sample)
{
    struct statistics_seen *seen = context;

    if (sample->kind == LOG_SAMPLE_MEMORY)
        return statistics_memory_sample(seen->statistics, sample->process, sample->time_ns,
                                        sample->a, sample->b, sample->c, NULL);
    if (sample->kind == LOG_SAMPLE_HEAP)
        return statistics_heap_sample(seen->statistics, sample->process, sample->time_ns, sample->a,
                                      sample->b, (enum log_heap_kind)sample->c, NULL);
    if (sample->kind == LOG_SAMPLE_OWN)
        statistics_own_sample(seen->statistics, sample->process, sample->a, sample->b);
    if (sample->kind == LOG_SAMPLE_MAPPING)
        statistics_mapping_sample(seen->statistics, sample->process, sample->time_ns, sample->a,
                                  sample->b, sample->c);
    if (sample->kind == LOG_SAMPLE_PRIVATE || sample->kind == LOG_SAMPLE_NOT_DUMPED)
        return statistics_private_sample(
            seen->statistics, sample->process, sample->time_ns, sample->kind,
            &(struct address_range){sample->a, sample->b}, sample->c, NULL);
    if (sample->kind == LOG_SAMPLE_PARTS)
        statistics_parts_sample(seen->statistics, sample->process, sample->a, sample->b, sample->c);
    return 0;
}

static inline void feed_samples(struct statistics_seen *seen)
{
    struct sample_stream *samples;

    require(sample_stream_open(seen->set, NULL, &samples, NULL) == 0);
    for (uint32_t id = 1; id <= log_set_definitions(seen->set)->n_processes; id++)
        require(sample_stream_read(samples, id, UINT64_MAX, feed_sample, seen, NULL) == 0);
    sample_stream_close(samples);
}

/* Pass 1; returns how many events there were. */
static inline uint64_t feed_events(struct statistics_seen *seen)
{
    struct event_stream *stream;
    struct event event;
    uint64_t n = 0;
    int r;

    require(event_stream_open(seen->set, &stream, NULL) == 0);
    while ((r = event_stream_next(stream, &event, NULL)) == 1) {
        require(statistics_event(seen->statistics, &event, NULL) == 0);
        n++;
    }
    require(r == 0);
    event_stream_close(stream);
    feed_samples(seen);
    require(statistics_finish(seen->statistics, NULL) == 0);
    return n;
}

/* Pass 2 */
static inline void add_rows(struct statistics_seen *seen)
{
    const struct definitions *definitions = log_set_definitions(seen->set);
    const struct pairing_chain *chain;
    struct allocation row;
    uint64_t n = 0;
    int more;

    require(statistics_begin_rows(seen->statistics, NULL) == 0);
    while ((more = statistics_next_row(seen->statistics, &row, &chain, NULL)) == 1) {
        uint32_t process = definitions->threads[row.thread].process;
        struct row_sums *sums = &seen->sums[process];
        require(row.allocation_id == ++n);
        require(row.address != 0 && row.address < UINT64_C(1) << 48);
        require(row.size_bytes <= EVENT_MAX_BYTES);
        require(row.heap <= heap_ranges_count(seen->statistics->heaps));
        sums->blocks++;
        sums->bytes += row.size_bytes;
        if (row.lifetime_ns == PAIRING_UNKNOWN) {
            sums->leaked++;
            sums->leaked_bytes += row.size_bytes;
        } else if (row.ended_by != PAIRING_EXEC) {
            require(row.alloc_ns + row.lifetime_ns <= seen->statistics->processes[process].last_ns);
            sums->ended++;
            sums->ended_bytes += row.size_bytes;
        }
    }
    require(more == 0);
    require(n == statistics_n_allocations(seen->statistics));
    require(statistics_end_rows(seen->statistics, NULL) == 0);
}

/* TO-1, TO-3, FC-1 */
static inline void check_totals(const struct statistics_seen *seen, uint32_t id)
{
    const struct process_totals *process = &seen->statistics->totals->processes[id];
    const struct row_sums *rows = &seen->sums[id];
    struct stack_totals sum = {0};

    for (uint32_t i = 0; i < process->n_stacks; i++) {
        const struct stack_totals *stack = totals_stack(process, i);
        sum.live_bytes += stack->live_bytes;
        sum.live_blocks += stack->live_blocks;
        sum.allocated_bytes += stack->allocated_bytes;
        sum.allocated_blocks += stack->allocated_blocks;
        sum.peak_bytes += stack->peak_bytes;
        sum.leaked_blocks += stack->leaked_blocks;
        sum.leaked_bytes += stack->leaked_bytes;
        require(stack->live_bytes <= INT64_MAX && stack->allocated_bytes <= INT64_MAX);
        require(stack->slack_bytes <= INT64_MAX && stack->elided_bytes <= INT64_MAX);
    }
    require(sum.allocated_blocks == rows->blocks && sum.allocated_bytes == rows->bytes);
    require(sum.live_blocks == process->live_blocks && sum.live_bytes == process->live_bytes);
    require(sum.live_blocks == rows->blocks - rows->ended);
    require(sum.live_bytes == rows->bytes - rows->ended_bytes);
    require(sum.peak_bytes == process->peak_bytes);
    require(sum.leaked_blocks <= rows->leaked && sum.leaked_bytes <= rows->leaked_bytes);
}

static inline uint64_t n_elided(const struct process_totals *process)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < process->n_stacks; i++)
        n += totals_stack(process, i)->elided_blocks;
    return n;
}

/* TL-1, TL-3 */
static inline void check_timeline(const struct statistics_seen *seen, uint32_t id)
{
    const struct timeline *timeline = &seen->statistics->processes[id].timeline;
    const struct row_sums *rows = &seen->sums[id];
    uint64_t allocated = 0;
    uint64_t freed = 0;
    uint64_t leaked = 0;
    uint64_t elided = n_elided(&seen->statistics->totals->processes[id]);
    size_t cursor = 0;

    for (size_t i = 0; i < timeline->n_buckets; i++) {
        struct timeline_bucket bucket = timeline_read(timeline, i, &cursor);
        require(bucket.low_bytes <= bucket.peak_bytes);
        require(bucket.live_bytes >= bucket.low_bytes && bucket.live_bytes <= bucket.peak_bytes);
        allocated += bucket.allocated_blocks;
        freed += bucket.freed_blocks;
        leaked += bucket.leaked_blocks;
    }
    require(timeline->n_buckets <= TIMELINE_MAX_BUCKETS);
    require(allocated == rows->blocks + elided && freed == rows->ended + elided);
    require(leaked <= rows->leaked);
}

/* HR-1, HP-1, HP-5 */
static inline void check_heaps(const struct statistics_seen *seen, enum statistics_moment moment)
{
    const struct heap_pages *pages = &seen->statistics->pages[moment];

    for (uint32_t id = 1; id <= pages->n_heaps; id++) {
        const struct heap_range *heap = heap_ranges_get(pages->ranges, id);
        const struct heap_parts *parts = &pages->states[id].parts;
        require(heap->start < heap->end);
        if (id > 1 && heap[-1].process == heap->process)
            require(heap[-1].end <= heap->start);
        require(parts->live_bytes + parts->slack_bytes + parts->overhead_bytes + parts->hole_bytes
                    + parts->free_page_bytes + parts->top_bytes
                == parts->extent_bytes);
        require(parts->extent_bytes <= UINT64_C(1) << 49);
    }
    for (size_t i = 0; i < pages->n_pages; i++) {
        const struct heap_page *page = &pages->pages[i];
        require(page->n_pages >= 1 && page->live_blocks >= 1);
        if (i > 0 && page[-1].heap == page->heap)
            require(page[-1].address + page[-1].n_pages * 4096 <= page->address);
    }
}

/* Limits of the cost of an event: docs/architecture.md, "Untrusted logs". */
static inline void check_costs(const struct statistics_seen *seen, uint64_t n_events)
{
    uint64_t n_rows = statistics_n_allocations(seen->statistics);

    require(n_rows <= n_events);
    for (int moment = 0; moment < STATISTICS_MOMENTS; moment++)
        require(seen->statistics->pages[moment].n_pages <= 3 * n_rows);
    require(heap_ranges_count(seen->statistics->heaps) <= n_rows);
    require(lifetimes_disk_bytes(seen->statistics->lifetimes) <= 64 * n_events + (1 << 20));
}

static inline void check_statistics(struct log_set *set)
{
    struct statistics_seen seen = {.set = set};
    struct row_sink sink = {.context = &seen,
                            .event = see_event,
                            .mapping = see_mapping,
                            .memory = see_memory,
                            .snapshot = see_snapshot};
    uint32_t n_processes = (uint32_t)log_set_definitions(set)->n_processes;
    uint64_t n_events;

    require(n_processes <= STATISTICS_PROPERTIES_PROCESSES);
    require(statistics_new(log_set_definitions(set), NULL, &sink, "/tmp/x", &seen.statistics, NULL)
            == 0);
    n_events = feed_events(&seen);
    add_rows(&seen);
    for (uint32_t id = 1; id <= n_processes; id++) {
        check_totals(&seen, id);
        check_timeline(&seen, id);
    }
    check_heaps(&seen, STATISTICS_AT_PEAK);
    check_heaps(&seen, STATISTICS_AT_END);
    check_costs(&seen, n_events);
    statistics_free(seen.statistics);
}

#endif
