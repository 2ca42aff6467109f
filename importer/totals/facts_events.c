/* SPDX-License-Identifier: MIT */
/* facts_events: handles each event and sample of pass 1. */
#include "importer/totals/statistics.h"
#include "lib/abi/attr.h"

/* Sets the time before which events need no advance_slow. A new peak of the process is also a new
 * peak of its bucket, so timeline_hold_outside detects it. */
static void plan_quiet(const struct statistics *facts, uint32_t process)
{
    struct process_facts *own = &facts->processes[process];
    uint64_t snapshot_ns = snapshots_next_ns(facts->snapshots, process);

    own->quiet_until_ns = own->timeline.open_until_ns;
    if (snapshot_ns < own->quiet_until_ns)
        own->quiet_until_ns = snapshot_ns + 1;
    if (own->phases.n_open + own->phases.n_passing)
        own->quiet_until_ns = 0;
}

void facts_emit_peak(const struct statistics *facts, uint32_t id)
{
    struct process_facts *process = &facts->processes[id];
    const struct process_totals *totals = &facts->totals->processes[id];

    if (!facts->blocks || totals->peak_epoch == process->reported_epoch)
        return;
    moment_blocks_peak(facts->blocks, id, totals->peak_ns, statistics_n_allocations(facts));
    process->reported_epoch = totals->peak_epoch;
}

static MTRACE_NOINLINE int advance_slow(struct statistics *facts, const struct event *event,
                                        struct error *err)
{
    struct process_facts *process = &facts->processes[event->process];
    const struct process_totals *totals = &facts->totals->processes[event->process];
    int code = timeline_advance(&process->timeline, event->time_ns, totals->live_bytes,
                                totals->live_blocks, err);

    phases_advance(&process->phases, totals->live_bytes);
    facts_emit_peak(facts, event->process);
    if (mtrace_unlikely(code == 0
                        && event->time_ns > snapshots_next_ns(facts->snapshots, event->process)))
        code =
            snapshots_advance(facts->snapshots, facts->totals, event->process, event->time_ns, err);
    plan_quiet(facts, event->process);
    return code;
}

/* Time advances: the live sums so far count for the timeline and for snapshots. */
static inline int advance(struct statistics *facts, const struct event *event, struct error *err)
{
    struct process_facts *process = &facts->processes[event->process];
    const struct process_totals *totals = &facts->totals->processes[event->process];

    process->event_ns = event->time_ns;
    if (event->time_ns > process->last_ns)
        process->last_ns = event->time_ns;
    if (mtrace_unlikely(event->time_ns >= process->quiet_until_ns))
        return advance_slow(facts, event, err);
    if (timeline_hold_outside(&process->timeline, totals->live_bytes, totals->live_blocks))
        facts_emit_peak(facts, event->process);
    return 0;
}

/* The program's log has the extent of a heap. */
static int heap_seen(struct statistics *facts, const struct event *event, uint64_t start,
                     uint64_t end, enum log_heap_kind kind, struct error *err)
{
    int code = memory_samples_extent(
        facts->memory_samples, event->process,
        &(struct seen_extent){.start = start, .end = end, .is_arena = kind == LOG_HEAP_ARENA}, err);

    return code ? code
                : heap_ranges_extent(facts->heaps, event->process, event->time_ns, start, end, kind,
                                     err);
}

/* The program itself set the program break: its heap reaches from the lowest one to this one. */
static int break_moved(struct statistics *facts, const struct event *event, struct error *err)
{
    struct process_facts *process = &facts->processes[event->process];
    uint64_t lower = event->old_address < event->address ? event->old_address : event->address;

    if (process->lowest_break == 0 || lower < process->lowest_break)
        process->lowest_break = lower;
    return heap_seen(facts, event, process->lowest_break, event->address, LOG_HEAP_BRK, err);
}

struct phase_numbers statistics_phase_numbers(const struct statistics *facts, uint32_t process)
{
    const struct process_totals *totals = &facts->totals->processes[process];
    uint64_t allocated_bytes = facts->processes[process].allocated_bytes;

    return (struct phase_numbers){
        .allocated_blocks = totals->n_allocations,
        .allocated_bytes = allocated_bytes,
        .freed_blocks = totals->n_ends,
        .freed_bytes = allocated_bytes - totals->live_bytes,
        .live_bytes = totals->live_bytes,
    };
}

static int phase_event(struct statistics *facts, const struct event *event, struct error *err)
{
    struct phase_numbers numbers = statistics_phase_numbers(facts, event->process);
    bool is_known = true;
    int code = phases_event(&facts->processes[event->process].phases, event, &numbers,
                            statistics_n_allocations(facts), &is_known, err);

    facts->n_unknown_phase_ends += !is_known;
    facts->processes[event->process].quiet_until_ns = 0;
    return code;
}

/* Elided blocks are allocated and freed in one bucket of the timeline (elide.h). */
static void count_elided(struct statistics *facts, const struct event *event)
{
    struct process_facts *process = &facts->processes[event->process];
    const struct sample_weight weight = {.blocks = event->n_elided, .bytes = event->size};

    timeline_count_allocation(&process->timeline, &weight);
    timeline_count_end(&process->timeline, &weight);
    process->allocated_bytes += event->size;
}

static int elided_event(struct statistics *facts, const struct event *event, struct error *err)
{
    int code = pairing_event(facts->pairing, event, err);

    if (code == 0 && (event->kind == EVENT_ELIDED || event->kind == EVENT_ELIDED_MIXED)) {
        count_elided(facts, event);
        if (facts->groups)
            code = group_totals_elided(facts->groups, event->process, event->group, event->n_elided,
                                       event->size, err);
    }
    return code ? code
                : totals_elided(facts->totals, event, facts_known_node(event->free_node), err);
}

static int pool_event(struct statistics *facts, const struct event *event, struct error *err)
{
    if (facts->pools)
        return pool_blocks_event(facts->pools, event, err);
    facts->n_lost_pool_events++;
    return 0;
}

static void end_event(struct statistics *facts, const struct event *event)
{
    struct process_facts *own = &facts->processes[event->process];

    own->has_exec = event->value == LOG_END_EXEC;
    own->has_ended = event->value != LOG_END_UNKNOWN;
    if (!facts->definitions->processes[event->process].is_cut)
        return;
    pairing_process_get(facts->pairing, event->process)->ended_in_exec = own->has_exec;
    if (facts->pools)
        pool_blocks_set_exec(facts->pools, event->process, own->has_exec);
}

struct window_numbers statistics_window_numbers(const struct statistics *facts, uint32_t process)
{
    const struct process_facts *own = &facts->processes[process];

    return (struct window_numbers){
        .allocated_blocks = facts->totals->processes[process].n_allocations,
        .allocated_bytes = own->allocated_bytes,
        .last_allocation = statistics_n_allocations(facts),
        .start_ns = own->timeline.start_ns,
        .began_on = !(facts->definitions->processes[process].flags & LOG_FLAG_STARTED_OFF)};
}

/* Snapshots are taken in windows only. The first window may begin long after the process. */
static void plan_snapshots(struct statistics *facts, const struct event *event, bool is_first)
{
    const struct windows *windows = &facts->processes[event->process].windows;

    facts->processes[event->process].quiet_until_ns = 0;
    if (!windows_is_open(windows))
        snapshots_pause(facts->snapshots, event->process, event->time_ns);
    else if (is_first && windows->list[0].start_ns == event->time_ns)
        snapshots_plan(facts->snapshots, event->process, event->time_ns);
    else
        snapshots_resume(facts->snapshots, event->process, event->time_ns);
}

static int tracing_event(struct statistics *facts, const struct event *event, struct error *err)
{
    struct pairing_process *process = pairing_process_get(facts->pairing, event->process);
    struct window_numbers numbers = statistics_window_numbers(facts, event->process);
    struct windows *windows = &facts->processes[event->process].windows;
    bool is_first = windows->n == 0;

    process->is_untraced = event->value == 0;
    if (event->value == 0) {
        process->has_untracked_blocks = true;
        facts->processes[event->process].was_untraced = true;
    }
    int code =
        windows_switch(windows, event->value != 0,
                       event->address > UINT8_MAX ? LOG_SWITCH_UNKNOWN : (unsigned)event->address,
                       event->time_ns, &numbers, err);
    plan_snapshots(facts, event, is_first);
    return code;
}

static MTRACE_COLD int rare_event(struct statistics *facts, const struct event *event,
                                  struct error *err)
{
    switch (event->kind) {
    case EVENT_MMAP:
    case EVENT_MUNMAP:
    case EVENT_MREMAP:
    case EVENT_RESIDENT:
        return mappings_event(&facts->processes[event->process].mappings, event, err);
    case EVENT_HEAP_EXTENT:
        return heap_seen(facts, event, event->address, event->old_address,
                         (enum log_heap_kind)event->value, err);
    case EVENT_BRK:
        return break_moved(facts, event, err);
    case EVENT_TRACING:
        return tracing_event(facts, event, err);
    case EVENT_LOST:
    case EVENT_MOVE:
        return pairing_event(facts->pairing, event, err);
    case EVENT_PHASE:
        return phase_event(facts, event, err);
    case EVENT_POOL_ALLOC:
    case EVENT_POOL_FREE:
    case EVENT_POOL_RESIZE:
    case EVENT_POOL_END:
        return pool_event(facts, event, err);
    case EVENT_OBJECT_WALK:
    case EVENT_OBJECT_NODE:
    case EVENT_OBJECT_CLAIM:
    case EVENT_OBJECT_WARNING:
        return object_walks_event(&facts->walks, event, facts->pairing, facts->pools,
                                  &facts->totals->processes[event->process], err);
    case EVENT_END: /* a revoked end is followed by another END event */
        end_event(facts, event);
        return facts->sink.event(facts->sink.context, event, err);
    default:
        return facts->sink.event(facts->sink.context, event, err);
    }
}

void statistics_expect(struct statistics *facts, const struct event *events, size_t n_events)
{
    const struct expecting own = {facts, events->process,
                                  pairing_live(facts->pairing, events->process),
                                  &facts->totals->processes[events->process]};

    facts_expect_behind(&own, events, n_events);
}

/* Number of recorded events: a realloc arrives as two but is one in the log; a loss counts as 0. */
static uint64_t n_recorded_as(const struct event *event)
{
    switch (event->kind) {
    case EVENT_REALLOC_END:
    case EVENT_LOST:
    case EVENT_ELIDED_SIZES:
    case EVENT_ELIDED_LIVES:
    case EVENT_ELIDED_ALLOCATIONS:
    case EVENT_NEXT_OWNER:
        return 0;
    case EVENT_ELIDED:
    case EVENT_ELIDED_MIXED:
        return 2 * event->n_elided;
    default:
        return 1;
    }
}

int statistics_event(struct statistics *facts, const struct event *event, struct error *err)
{
    uint64_t n_recorded = mtrace_likely(event->kind <= EVENT_FREE) ? 1 : n_recorded_as(event);

    facts->n_events += n_recorded;
    facts->processes[event->process].n_events += n_recorded;
    if (totals_advance(facts->totals, event->process, event->time_ns)) {
        int code = advance(facts, event, err);
        if (code)
            return code;
    }
    int code;
    if (mtrace_likely((event->kind == EVENT_ALLOC || event->kind == EVENT_FREE)
                      && facts_blocks_plain(facts, event, &code, err)))
        return code;
    switch (event->kind) {
    case EVENT_ALLOC:
    case EVENT_REALLOC_END:
    case EVENT_NEXT_OWNER:
        return pairing_event(facts->pairing, event, err);
    case EVENT_FREE:
    case EVENT_REALLOC_BEGIN:
        if (mtrace_unlikely(event->node == DEFINITIONS_NO_BACKTRACE)) {
            struct event bare = *event;
            bare.node = 0;
            return pairing_event(facts->pairing, &bare, err);
        }
        return pairing_event(facts->pairing, event, err);
    case EVENT_ELIDED:
    case EVENT_ELIDED_MIXED:
    case EVENT_ELIDED_SIZES:
    case EVENT_ELIDED_LIVES:
    case EVENT_ELIDED_ALLOCATIONS:
        return elided_event(facts, event, err);
    default:
        return rare_event(facts, event, err);
    }
}

int statistics_memory_sample(struct statistics *facts, uint32_t process, uint64_t time_ns,
                             uint64_t rss_bytes, uint64_t anonymous_bytes, uint64_t file_bytes,
                             struct error *err)
{
    const struct process_facts *own = &facts->processes[process];
    struct memory_sample sample = {.process = process,
                                   .time_ns = time_ns,
                                   .rss_bytes = rss_bytes,
                                   .anonymous_bytes = anonymous_bytes,
                                   .file_bytes = file_bytes,
                                   .heaps_bytes = own->heap_block_bytes,
                                   .mapped_bytes =
                                       own->mapped_block_bytes + own->mappings.anonymous_bytes};

    return memory_samples_totals(facts->memory_samples, &sample, err);
}

void statistics_own_sample(struct statistics *facts, uint32_t process, uint64_t own_bytes)
{
    memory_samples_own(facts->memory_samples, process, own_bytes);
}

int statistics_heap_sample(struct statistics *facts, uint32_t process, uint64_t time_ns,
                           uint64_t start, uint64_t end, enum log_heap_kind kind, struct error *err)
{
    int code = memory_samples_heap(
        facts->memory_samples, process, time_ns,
        &(struct seen_extent){.start = start, .end = end, .is_arena = kind == LOG_HEAP_ARENA}, err);

    return code ? code : heap_ranges_extent(facts->heaps, process, time_ns, start, end, kind, err);
}

void statistics_mapping_sample(struct statistics *facts, uint32_t process, uint64_t time_ns,
                               uint64_t start, uint64_t end, uint64_t rss_bytes)
{
    mappings_sample(&facts->processes[process].mappings, time_ns, start, end, rss_bytes);
}
