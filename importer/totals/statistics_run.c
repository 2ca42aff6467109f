/* SPDX-License-Identifier: MIT */
#include "importer/totals/statistics_run.h"

#include "importer/totals/memory_samples.h"
#include "importer/totals/statistics.h"
#include "lib/abi/attr.h"
#include "lib/totals/report_classes.h"

enum {
    REPORTED_UNITS = 8
};

/* Address range in which an allocation adds no information about heaps. */
struct reported {
    uint64_t start, end;
};

struct run {
    struct statistics *statistics;
    struct expecting expecting;
    struct process_statistics *own;
    struct process_totals *totals;
    struct thread_totals *thread;
    struct timeline_bucket *bucket;
    struct reported
        reported_units[REPORTED_UNITS]; /* to heap_ranges, by unit number; all of one class */
    uint32_t reported_class;
    uint64_t began_bytes, thread_began_bytes; /* live bytes when the run began */
    uint64_t n_allocations, allocated_bytes, n_ends, ended_bytes;
    uint64_t low_bytes, peak_bytes; /* lowest and highest live bytes during the run */
    uint64_t until_ns;
    uint64_t last_ns; /* time of the last event taken; 0: none */
    uint32_t process, thread_id;
};

/* Does this module count everything that is counted for a block of the process? */
static bool can_begin(const struct statistics *statistics, const struct event *event)
{
    const struct process_totals *totals = &statistics->totals->processes[event->process];

    return !statistics->groups && !statistics->pools && !statistics->definitions->has_no_addresses
           && totals->sample_bytes == 0 && totals->pages
           && event->time_ns < statistics->processes[event->process].quiet_until_ns;
}

static struct run begin(struct statistics *statistics, const struct event *first, uint64_t until_ns)
{
    struct process_statistics *own = &statistics->processes[first->process];
    struct process_totals *totals = &statistics->totals->processes[first->process];
    struct thread_totals *thread = &statistics->totals->threads[first->thread];

    if (first->time_ns == totals->now_ns) /* same time as before, but maybe new for the thread */
        totals_settle_thread(thread, first->time_ns);
    return (struct run){
        .statistics = statistics,
        .expecting = {statistics, first->process, pairing_live(statistics->pairing, first->process),
                      totals},
        .own = own,
        .totals = totals,
        .thread = thread,
        .bucket = own->timeline.last,
        .began_bytes = totals->live_bytes,
        .thread_began_bytes = thread->live_bytes,
        .low_bytes = UINT64_MAX,
        .until_ns = until_ns < own->quiet_until_ns ? until_ns : own->quiet_until_ns,
        .process = first->process,
        .thread_id = first->thread,
    };
}

static void emit_live(const struct run *run)
{
    run->totals->live_bytes = run->began_bytes + run->allocated_bytes - run->ended_bytes;
}

static MTRACE_NOINLINE void emit_peak(const struct run *run)
{
    struct process_totals *totals = run->totals;
    uint64_t began_blocks = totals->live_blocks;

    emit_live(run);
    totals->live_blocks += run->n_allocations - run->n_ends;
    totals_compare_with_peak(totals);
    statistics_emit_peak(run->statistics, run->process);
    totals->live_blocks = began_blocks;
}

/* Time advances: compares live sums with the peaks (totals.h). */
static inline void begin_instant(struct run *run, uint64_t time_ns)
{
    uint64_t more = run->allocated_bytes - run->ended_bytes;
    uint64_t live_bytes = run->began_bytes + more;
    uint64_t thread_bytes = run->thread_began_bytes + more;
    struct process_totals *totals = run->totals;

    if (live_bytes < run->low_bytes)
        run->low_bytes = live_bytes;
    if (live_bytes > run->peak_bytes)
        run->peak_bytes = live_bytes;
    if (mtrace_unlikely(live_bytes > totals->peak_bytes))
        emit_peak(run);
    if (thread_bytes > run->thread->peak_bytes)
        run->thread->peak_bytes = thread_bytes;
    totals->now_ns = time_ns;
}

static MTRACE_NOINLINE int emit_heaps(struct run *run, const struct heap_allocation *allocation,
                                      struct reported *unit, struct error *err)
{
    struct heap_ranges *heaps = run->statistics->heaps;
    int code = heap_ranges_allocated(heaps, allocation, err);

    if (code)
        return code;
    if (run->reported_class != (allocation->call & (LOG_CHUNK_KNOWN | LOG_CHUNK_NON_MAIN)))
        for (int i = 0; i < REPORTED_UNITS; i++)
            run->reported_units[i] = (struct reported){0};
    run->reported_class = allocation->call & (LOG_CHUNK_KNOWN | LOG_CHUNK_NON_MAIN);
    heap_ranges_reported(heaps, &unit->start, &unit->end);
    return 0;
}

static inline bool lies_in(const struct reported *reported, uint64_t start, uint64_t end)
{
    return start >= reported->start && end <= reported->end;
}

static inline int allocated_in_heap(struct run *run, const struct event *event, uint8_t call,
                                    uint64_t occupied, struct error *err)
{
    uint64_t end = event->address + (occupied ? occupied : 1);
    struct reported *unit =
        &run->reported_units[(event->address >> REPORT_GRID_UNIT_SHIFT) % REPORTED_UNITS];

    if (mtrace_likely(lies_in(unit, event->address, end)
                      && run->reported_class == (call & (LOG_CHUNK_KNOWN | LOG_CHUNK_NON_MAIN))))
        return 0;
    return emit_heaps(run,
                      &(struct heap_allocation){.time_ns = event->time_ns,
                                                .address = event->address,
                                                .usable_bytes = occupied,
                                                .process = run->process,
                                                .call = call},
                      unit, err);
}

static inline int count_allocation(struct run *run, struct stack_totals *stack,
                                   const struct event *event, const struct live_block *block,
                                   struct error *err)
{
    uint64_t size = event->size;
    uint64_t slack = live_block_known_slack(block);
    uint64_t occupied = size + slack;
    struct size_class_totals *class = &run->totals->sizes[size_class_of(size)];

    totals_settle(run->totals, stack, event->time_ns);
    stack->live_bytes += size;
    stack->live_blocks++;
    stack->allocated_bytes += size;
    stack->allocated_blocks++;
    stack->slack_bytes += slack;
    if (mtrace_unlikely(stack->first_ns == TOTALS_NEVER))
        stack->first_ns = event->time_ns;
    stack->last_ns = event->time_ns;
    stack->chains_started++;
    if (mtrace_unlikely(size < stack->min_size))
        stack->min_size = size;
    if (mtrace_unlikely(size > stack->max_size))
        stack->max_size = size;
    class->allocated_blocks++;
    class->allocated_bytes += size;
    class->slack_bytes += slack;
    run->n_allocations++;
    run->allocated_bytes += size;
    int code = 0;
    if (mtrace_likely(heap_ranges_is_heap_block(block->call, occupied)))
        code = allocated_in_heap(run, event, block->call, occupied, err);
    else
        code =
            statistics_mapped_block(run->statistics, run->process, event->address, occupied, err);
    return code || !run->statistics->lifetimes
               ? code
               : lifetimes_allocated(run->statistics->lifetimes, block, 0, false, NULL, err);
}

static inline struct stack_totals *stack_of(const struct run *run, const struct expected *expected,
                                            uint32_t backtrace)
{
    struct stack_totals *stack = expected->stack;

    return mtrace_likely(stack && stack->backtrace == backtrace)
               ? stack
               : totals_stack_find(run->totals, backtrace);
}

/* Rejects the first block of a stack or size class, and what pairing_plain_allocation rejects. */
static inline bool take_allocation(struct run *run, const struct event *event, int *ret_code,
                                   struct error *err)
{
    const struct expected *expected =
        statistics_expected(run->statistics, run->expecting.live, event);
    struct stack_totals *stack = stack_of(run, expected, event->backtrace);

    if (mtrace_unlikely(!stack || size_class_of(event->size) >= run->totals->n_sizes))
        return false;
    if (event->time_ns != run->totals->now_ns) /* before the block gets its id */
        begin_instant(run, event->time_ns);
    const struct live_block *block =
        pairing_plain_allocation(run->statistics->pairing, event, &expected->prefetch_slot);
    if (mtrace_unlikely(!block))
        return false;
    *ret_code = count_allocation(run, stack, event, block, err);
    return true;
}

static inline int count_end(struct run *run, struct stack_totals *stack, const struct event *event,
                            const struct live_block *block, uint64_t intervening, struct error *err)
{
    struct statistics *statistics = run->statistics;
    struct process_totals *totals = run->totals;
    const struct sample_weight weight = {.blocks = 1, .bytes = block->size};
    uint32_t backtrace = statistics_known_backtrace(event->backtrace);
    uint64_t lifetime = event->time_ns - block->alloc_ns;
    struct lifetime_class_totals *class = &totals->lifetimes[lifetime_class_of(lifetime)];
    int code = 0;

    totals_settle(totals, stack, event->time_ns);
    stack->live_bytes -= weight.bytes;
    stack->live_blocks--;
    stack->lifetime_sum_ns += (double)lifetime;
    if (intervening <= 1) {
        stack->temporary_blocks++;
        stack->temporary_bytes += weight.bytes;
        totals->sizes[size_class_of(weight.bytes)].temporary_blocks++;
    }
    class->blocks++;
    class->bytes += weight.bytes;
    run->n_ends++;
    run->ended_bytes += weight.bytes;
    uint64_t occupied = weight.bytes + live_block_known_slack(block);
    if (mtrace_unlikely(!heap_ranges_is_heap_block(block->call, occupied)))
        statistics_mapped_block_ended(run->statistics, run->process, event->address);
    if (backtrace)
        code = totals_count_free_site(statistics->totals, run->process, stack, backtrace, &weight,
                                      err);
    if (code == 0 && statistics->blocks)
        code = moment_blocks_ended(statistics->blocks, run->process, block, err);
    if (code || !statistics->lifetimes)
        return code;
    struct pairing_end end = pairing_end_of_free(event, intervening);
    end.backtrace = backtrace;
    return lifetimes_ended(statistics->lifetimes, block, &end, err);
}

static inline bool take_end(struct run *run, const struct event *event, int *ret_code,
                            struct error *err)
{
    struct expected *expected = statistics_expected(run->statistics, run->expecting.live, event);
    uint64_t intervening;
    const struct live_block *block =
        pairing_plain_free(run->statistics->pairing, event, &expected->prefetch_slot, &intervening);

    if (mtrace_unlikely(!block || block->thread != run->thread_id))
        return false;
    if (event->time_ns != run->totals->now_ns)
        begin_instant(run, event->time_ns);
    *ret_code =
        count_end(run, stack_of(run, expected, block->backtrace), event, block, intervening, err);
    live_table_remove_prefetched(run->expecting.live, &expected->prefetch_slot);
    return true;
}

/* Needed even if no event was taken: time may have advanced. */
static int finish(const struct run *run, size_t n, struct error *err)
{
    struct process_totals *totals = run->totals;
    struct process_statistics *own = run->own;
    const struct sample_weight ended = {.blocks = run->n_ends, .bytes = run->ended_bytes};

    run->statistics->n_events += n;
    own->n_events += n;
    own->event_ns = totals->now_ns;
    if (own->last_ns < totals->now_ns)
        own->last_ns = totals->now_ns;
    emit_live(run);
    totals->live_blocks += run->n_allocations - run->n_ends;
    if (run->low_bytes <= run->peak_bytes) {
        timeline_hold_outside(&own->timeline, run->low_bytes, totals->live_blocks);
        timeline_hold_outside(&own->timeline, run->peak_bytes, totals->live_blocks);
    }
    totals->n_allocations += run->n_allocations;
    totals->n_ends += run->n_ends;
    own->allocated_bytes += run->allocated_bytes;
    run->bucket->allocated_blocks += run->n_allocations;
    run->bucket->allocated_bytes += run->allocated_bytes;
    run->bucket->freed_blocks += run->n_ends;
    run->bucket->freed_bytes += run->ended_bytes;
    run->thread->live_bytes += run->allocated_bytes - run->ended_bytes;
    if (n)
        run->thread->changed_ns = run->last_ns;
    run->thread->allocated_blocks += run->n_allocations;
    run->thread->allocated_bytes += run->allocated_bytes;
    run->thread->freed_blocks += run->n_ends;
    run->thread->freed_bytes += run->ended_bytes;
    return run->n_ends ? totals_count_flow(run->statistics->totals, run->process, run->thread_id,
                                           run->thread_id, &ended, err)
                       : 0;
}

int statistics_run_take(struct statistics *statistics, const struct event *events, size_t n_events,
                        uint64_t until_ns, size_t *ret_n, struct error *err)
{
    bool is_plain = true;
    int code = 0;
    size_t n = 0;

    *ret_n = 0;
    if (!can_begin(statistics, &events[0]))
        return 0;
    struct run run = begin(statistics, &events[0], until_ns);
    while (code == 0 && n < n_events) {
        const struct event *event = &events[n];
        if (mtrace_unlikely(event->kind > EVENT_FREE || event->thread != run.thread_id
                            || event->time_ns >= run.until_ns || event->process != run.process))
            break;
        is_plain = event->kind == EVENT_ALLOC ? take_allocation(&run, event, &code, err)
                                              : take_end(&run, event, &code, err);
        if (mtrace_unlikely(!is_plain))
            break;
        run.last_ns = event->time_ns;
        statistics_prefetch_next(&run.expecting, event, n_events - n++);
    }
    *ret_n = n;
    return code ? code : finish(&run, n, err);
}
