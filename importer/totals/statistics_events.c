/* SPDX-License-Identifier: MIT */
/* statistics_events: handles each event and sample of pass 1. */
#include "importer/totals/statistics.h"
#include "lib/abi/attr.h"

/* Sets the time before which events need no advance_slow. A new peak of the process is also a new
 * peak of its bucket, so timeline_hold_outside detects it. */
static void plan_quiet(const struct statistics *statistics, uint32_t process)
{
    struct process_statistics *own = &statistics->processes[process];
    uint64_t snapshot_ns = snapshots_next_ns(statistics->snapshots, process);

    own->quiet_until_ns = own->timeline.open_until_ns;
    if (snapshot_ns < own->quiet_until_ns)
        own->quiet_until_ns = snapshot_ns + 1;
    if (own->phases.n_open)
        own->quiet_until_ns = 0;
}

/* Reports a new peak to moment_blocks, before a later free is counted. */
static void emit_peak(const struct statistics *statistics, uint32_t id)
{
    struct process_statistics *process = &statistics->processes[id];
    const struct process_totals *totals = &statistics->totals->processes[id];

    if (!statistics->blocks || totals->peak_epoch == process->reported_epoch)
        return;
    moment_blocks_peak(statistics->blocks, id, totals->peak_ns,
                       statistics_n_allocations(statistics));
    process->reported_epoch = totals->peak_epoch;
}

static MTRACE_NOINLINE int advance_slow(struct statistics *statistics, const struct event *event,
                                        struct error *err)
{
    struct process_statistics *process = &statistics->processes[event->process];
    const struct process_totals *totals = &statistics->totals->processes[event->process];
    int code = timeline_advance(&process->timeline, event->time_ns, totals->live_bytes,
                                totals->live_blocks, err);

    phases_advance(&process->phases, totals->live_bytes);
    emit_peak(statistics, event->process);
    if (mtrace_unlikely(
            code == 0 && event->time_ns > snapshots_next_ns(statistics->snapshots, event->process)))
        code = snapshots_advance(statistics->snapshots, statistics->totals, event->process,
                                 event->time_ns, err);
    plan_quiet(statistics, event->process);
    return code;
}

/* Time advances: the live sums so far count for the timeline and for snapshots. */
static inline int advance(struct statistics *statistics, const struct event *event,
                          struct error *err)
{
    struct process_statistics *process = &statistics->processes[event->process];
    const struct process_totals *totals = &statistics->totals->processes[event->process];

    process->event_ns = event->time_ns;
    if (event->time_ns > process->last_ns)
        process->last_ns = event->time_ns;
    if (mtrace_unlikely(event->time_ns >= process->quiet_until_ns))
        return advance_slow(statistics, event, err);
    if (timeline_hold_outside(&process->timeline, totals->live_bytes, totals->live_blocks))
        emit_peak(statistics, event->process);
    return 0;
}

/* The program's log has the extent of a heap. */
static int heap_seen(struct statistics *statistics, const struct event *event, uint64_t start,
                     uint64_t end, enum log_heap_kind kind, struct error *err)
{
    return heap_ranges_extent(statistics->heaps, event->process, event->time_ns, start, end, kind,
                              err);
}

/* The program itself set the program break: its heap reaches from the lowest one to this one. */
static int break_moved(struct statistics *statistics, const struct event *event, struct error *err)
{
    struct process_statistics *process = &statistics->processes[event->process];
    uint64_t lower = event->old_address < event->address ? event->old_address : event->address;

    if (process->lowest_break == 0 || lower < process->lowest_break)
        process->lowest_break = lower;
    return heap_seen(statistics, event, process->lowest_break, event->address, LOG_HEAP_BRK, err);
}

struct phase_numbers statistics_phase_numbers(const struct statistics *statistics, uint32_t process)
{
    const struct process_totals *totals = &statistics->totals->processes[process];
    uint64_t allocated_bytes = statistics->processes[process].allocated_bytes;

    return (struct phase_numbers){
        .allocated_blocks = totals->n_allocations,
        .allocated_bytes = allocated_bytes,
        .freed_blocks = totals->n_ends,
        .freed_bytes = allocated_bytes - totals->live_bytes,
        .live_bytes = totals->live_bytes,
    };
}

static int phase_event(struct statistics *statistics, const struct event *event, struct error *err)
{
    struct phase_numbers numbers = statistics_phase_numbers(statistics, event->process);
    bool is_known = true;
    int code = phases_event(&statistics->processes[event->process].phases, event, &numbers,
                            statistics_n_allocations(statistics), &is_known, err);

    statistics->n_unknown_phase_ends += !is_known;
    statistics->processes[event->process].quiet_until_ns = 0;
    return code;
}

/* Elided blocks were allocated and freed shortly before (elide.h). */
static void count_elided(struct statistics *statistics, const struct event *event)
{
    struct process_statistics *process = &statistics->processes[event->process];
    const struct sample_weight weight = {.blocks = event->n_elided, .bytes = event->size};

    timeline_count_allocation(&process->timeline, &weight);
    timeline_count_end(&process->timeline, &weight);
    process->allocated_bytes += event->size;
}

static int elided_event(struct statistics *statistics, const struct event *event, struct error *err)
{
    int code = pairing_event(statistics->pairing, event, err);

    if (code == 0 && event->kind == EVENT_ELIDED) {
        count_elided(statistics, event);
        if (statistics->groups)
            code = group_totals_elided(statistics->groups, event->process, event->group,
                                       event->n_elided, event->size, err);
    }
    return code ? code
                : totals_elided(
                    statistics->totals, event,
                    event->free_backtrace == DEFINITIONS_NO_BACKTRACE ? 0 : event->free_backtrace,
                    err);
}

static int pool_event(struct statistics *statistics, const struct event *event, struct error *err)
{
    if (statistics->pools)
        return pool_blocks_event(statistics->pools, event, err);
    statistics->n_lost_pool_events++;
    return 0;
}

static void end_event(struct statistics *statistics, const struct event *event)
{
    struct process_statistics *own = &statistics->processes[event->process];

    own->has_exec = event->value == LOG_END_EXEC;
    own->has_ended = event->value != LOG_END_UNKNOWN;
    if (!statistics->definitions->processes[event->process].is_cut)
        return;
    pairing_process_get(statistics->pairing, event->process)->ended_in_exec = own->has_exec;
    if (statistics->pools)
        pool_blocks_set_exec(statistics->pools, event->process, own->has_exec);
}

struct window_numbers statistics_window_numbers(const struct statistics *statistics,
                                                uint32_t process)
{
    const struct process_statistics *own = &statistics->processes[process];

    return (struct window_numbers){
        .allocated_blocks = statistics->totals->processes[process].n_allocations,
        .allocated_bytes = own->allocated_bytes,
        .last_allocation = statistics_n_allocations(statistics),
        .start_ns = own->timeline.start_ns,
        .began_on = !(statistics->definitions->processes[process].flags & LOG_FLAG_STARTED_OFF)};
}

/* Snapshots are taken in windows only. The first window may begin long after the process. */
static void plan_snapshots(struct statistics *statistics, const struct event *event, bool is_first)
{
    const struct windows *windows = &statistics->processes[event->process].windows;

    statistics->processes[event->process].quiet_until_ns = 0;
    if (!windows_is_open(windows))
        snapshots_pause(statistics->snapshots, event->process, event->time_ns);
    else if (is_first && windows->list[0].start_ns == event->time_ns)
        snapshots_plan(statistics->snapshots, event->process, event->time_ns);
    else
        snapshots_resume(statistics->snapshots, event->process, event->time_ns);
}

static int tracing_event(struct statistics *statistics, const struct event *event,
                         struct error *err)
{
    struct pairing_process *process = pairing_process_get(statistics->pairing, event->process);
    struct window_numbers numbers = statistics_window_numbers(statistics, event->process);
    struct windows *windows = &statistics->processes[event->process].windows;
    bool is_first = windows->n == 0;

    process->is_untraced = event->value == 0;
    if (event->value == 0) {
        process->has_untracked_blocks = true;
        statistics->processes[event->process].was_untraced = true;
    }
    int code =
        windows_switch(windows, event->value != 0,
                       event->address > UINT8_MAX ? LOG_SWITCH_UNKNOWN : (unsigned)event->address,
                       event->time_ns, &numbers, err);
    plan_snapshots(statistics, event, is_first);
    return code;
}

/* Counts what a bounded log has no room for. */
static bool ignore(struct statistics *statistics, const struct event *event)
{
    switch (event->kind) {
    case EVENT_PHASE:
        statistics->n_ignored[STATISTICS_PHASES] += event->text != NULL;
        return true;
    case EVENT_OBJECT_WALK:
        statistics->n_ignored[STATISTICS_WALKS] += event->text != NULL;
        return true;
    case EVENT_POOL_ALLOC:
        statistics->n_ignored[STATISTICS_POOL_BLOCKS]++;
        return true;
    case EVENT_POOL_FREE:
    case EVENT_POOL_RESIZE:
    case EVENT_POOL_END:
    case EVENT_OBJECT_NODE:
    case EVENT_OBJECT_CLAIM:
    case EVENT_OBJECT_WARNING:
        return true;
    default:
        return false;
    }
}

static MTRACE_COLD int rare_event(struct statistics *statistics, const struct event *event,
                                  struct error *err)
{
    if (statistics->is_bounded && ignore(statistics, event))
        return 0;
    switch (event->kind) {
    case EVENT_MMAP:
    case EVENT_MUNMAP:
    case EVENT_MREMAP:
    case EVENT_RESIDENT:
        return mappings_event(&statistics->processes[event->process].mappings, event, err);
    case EVENT_HEAP_EXTENT:
        return heap_seen(statistics, event, event->address, event->old_address,
                         (enum log_heap_kind)event->value, err);
    case EVENT_BRK:
        return break_moved(statistics, event, err);
    case EVENT_TRACING:
        return tracing_event(statistics, event, err);
    case EVENT_LOST:
    case EVENT_MOVE:
        return pairing_event(statistics->pairing, event, err);
    case EVENT_PHASE:
        return phase_event(statistics, event, err);
    case EVENT_POOL_ALLOC:
    case EVENT_POOL_FREE:
    case EVENT_POOL_RESIZE:
    case EVENT_POOL_END:
        return pool_event(statistics, event, err);
    case EVENT_OBJECT_WALK:
    case EVENT_OBJECT_NODE:
    case EVENT_OBJECT_CLAIM:
    case EVENT_OBJECT_WARNING:
        return object_walks_event(&statistics->walks, event, statistics->pairing, statistics->pools,
                                  &statistics->totals->processes[event->process], err);
    case EVENT_END: /* a revoked end is followed by another END event */
        end_event(statistics, event);
        return statistics->sink.event(statistics->sink.context, event, err);
    default:
        return statistics->sink.event(statistics->sink.context, event, err);
    }
}

/* ---- prefetching ---- */

/* How many events ahead the slot in the live table, the block, and the totals of its stack are
 * prefetched. */
enum {
    AHEAD_STACK = 4,
    AHEAD_BLOCK = 8,
    AHEAD_SLOT = 12
};

/* The block that an event will end, or NULL. */
static inline const struct live_block *guess_block(const struct statistics *statistics,
                                                   const struct event *event)
{
    return event->kind == EVENT_FREE || event->kind == EVENT_REALLOC_BEGIN
               ? live_table_guess(pairing_live(statistics->pairing, event->process), event->address)
               : NULL;
}

static inline void prefetch_stack(const struct statistics *statistics, const struct event *event)
{
    const struct process_totals *totals = &statistics->totals->processes[event->process];
    const struct live_block *block = guess_block(statistics, event);
    const struct stack_totals *stack = NULL;

    if (event->kind == EVENT_ALLOC || event->kind == EVENT_REALLOC_END)
        stack = totals_stack_find(totals, event->backtrace);
    else if (block && block->address == event->address)
        stack = totals_stack_find(totals, block->backtrace);
    if (stack)
        totals_stack_fetch(stack);
}

void statistics_prefetch(const struct statistics *statistics, const struct event *events,
                         size_t n_events)
{
    if (mtrace_likely(n_events > AHEAD_SLOT))
        live_table_prefetch(pairing_live(statistics->pairing, events[AHEAD_SLOT].process),
                            events[AHEAD_SLOT].address);
    if (mtrace_likely(n_events > AHEAD_BLOCK))
        __builtin_prefetch(guess_block(statistics, &events[AHEAD_BLOCK]), 1);
    if (mtrace_likely(n_events > AHEAD_STACK))
        prefetch_stack(statistics, &events[AHEAD_STACK]);
}

/* ---- events ---- */

/* Number of recorded events: a realloc arrives as two but is one in the log; a loss counts as 0. */
static uint64_t n_recorded_as(const struct event *event)
{
    switch (event->kind) {
    case EVENT_REALLOC_END:
    case EVENT_LOST:
    case EVENT_ELIDED_ALLOCATIONS:
    case EVENT_NEXT_OWNER:
        return 0;
    case EVENT_ELIDED:
        return 2 * event->n_elided;
    default:
        return 1;
    }
}

int statistics_event(struct statistics *statistics, const struct event *event, struct error *err)
{
    uint64_t n_recorded = mtrace_likely(event->kind <= EVENT_FREE) ? 1 : n_recorded_as(event);

    statistics->n_events += n_recorded;
    statistics->processes[event->process].n_events += n_recorded;
    if (totals_advance(statistics->totals, event->process, event->time_ns)) {
        int code = advance(statistics, event, err);
        if (code)
            return code;
    }
    switch (event->kind) {
    case EVENT_ALLOC:
    case EVENT_REALLOC_END:
    case EVENT_NEXT_OWNER:
        return pairing_event(statistics->pairing, event, err);
    case EVENT_FREE:
    case EVENT_REALLOC_BEGIN:
        if (mtrace_unlikely(event->backtrace == DEFINITIONS_NO_BACKTRACE)) {
            struct event bare = *event;
            bare.backtrace = 0;
            return pairing_event(statistics->pairing, &bare, err);
        }
        return pairing_event(statistics->pairing, event, err);
    case EVENT_ELIDED:
    case EVENT_ELIDED_ALLOCATIONS:
        return elided_event(statistics, event, err);
    default:
        return rare_event(statistics, event, err);
    }
}

int statistics_memory_sample(struct statistics *statistics, uint32_t process, uint64_t time_ns,
                             uint64_t rss_bytes, uint64_t anonymous_bytes, uint64_t file_bytes,
                             struct error *err)
{
    struct memory_sample sample = {.process = process,
                                   .time_ns = time_ns,
                                   .rss_bytes = rss_bytes,
                                   .anonymous_bytes = anonymous_bytes,
                                   .file_bytes = file_bytes};

    return memory_samples_totals(statistics->memory_samples, &sample, err);
}

void statistics_own_sample(struct statistics *statistics, uint32_t process, uint64_t file_bytes,
                           uint64_t private_bytes)
{
    memory_samples_own(statistics->memory_samples, process, file_bytes, private_bytes);
}

int statistics_heap_sample(struct statistics *statistics, uint32_t process, uint64_t time_ns,
                           uint64_t start, uint64_t end, enum log_heap_kind kind, struct error *err)
{
    int code = memory_samples_heap(statistics->memory_samples, process, time_ns, start, end, err);

    return code ? code
                : heap_ranges_extent(statistics->heaps, process, time_ns, start, end, kind, err);
}

void statistics_mapping_sample(struct statistics *statistics, uint32_t process, uint64_t time_ns,
                               uint64_t start, uint64_t end, uint64_t rss_bytes)
{
    mappings_sample(&statistics->processes[process].mappings, time_ns, start, end, rss_bytes);
}

int statistics_private_sample(struct statistics *statistics, uint32_t process, uint64_t time_ns,
                              enum log_sample_kind kind, const struct address_range *range,
                              uint64_t rss_bytes, struct error *err)
{
    struct process_statistics *own = &statistics->processes[process];
    const struct resident_owners owners = {.samples = statistics->memory_samples,
                                           .heaps = statistics->heaps,
                                           .blocks = &own->mapped_blocks,
                                           .mappings = &own->mappings,
                                           .stacks = &own->stacks,
                                           .process = process};

    if (own->n_stack_threads != statistics->definitions->n_threads) {
        int code = resident_parts_find_stacks(statistics->definitions, process, &own->stacks, err);
        if (code)
            return code;
        own->n_stack_threads = statistics->definitions->n_threads;
    }
    resident_parts_add(&owners, range->start, range->end, rss_bytes,
                       kind == LOG_SAMPLE_MODULE_DATA  ? MEMORY_PART_FILE
                       : kind == LOG_SAMPLE_NOT_DUMPED ? MEMORY_PART_MTRACE
                                                       : MEMORY_PART_OTHER);
    statistics_mapping_sample(statistics, process, time_ns, range->start, range->end, rss_bytes);
    return 0;
}

void statistics_parts_sample(struct statistics *statistics, uint32_t process, uint64_t stack_bytes,
                             uint64_t shared_bytes, uint64_t file_bytes)
{
    struct memory_samples *samples = statistics->memory_samples;

    memory_samples_add_part(samples, process, MEMORY_PART_STACK, stack_bytes);
    memory_samples_add_part(samples, process, MEMORY_PART_SHARED, shared_bytes);
    memory_samples_add_part(samples, process, MEMORY_PART_FILE, file_bytes);
    memory_samples_end_parts(samples, process);
}
