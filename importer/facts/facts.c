/* SPDX-License-Identifier: MIT */
#include "importer/facts/facts.h"

#include "common/attr.h"
#include "importer/facts/facts_parts.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIFE_PARTS = 64
};

/* How many events ahead a slot of the live table, and then a block, are fetched. */
enum {
    EXPECT_BLOCK = 4,
    EXPECT_SLOT = 10,
};

/* A stack that was not taken is no stack of a free. */
static uint32_t known_node(uint32_t node)
{
    return node == DEFINITIONS_NO_BACKTRACE ? 0 : node;
}

/* ---- what pairing tells ---- */

static uint64_t occupied_bytes(const struct live_block *block)
{
    uint64_t slack = live_block_slack(block);

    return block->size + (slack == LIVE_BLOCK_SLACK_UNKNOWN ? 0 : slack);
}

/* What it has of the memory that no heap accounts for (HR-2). */
static uint64_t own_pages(const struct facts *facts, const struct live_block *block)
{
    uint64_t occupied = occupied_bytes(block);

    return facts->definitions->has_no_addresses || heap_ranges_is_heap_block(block->call, occupied)
               ? 0
               : occupied;
}

/* What it has of the heaps. */
static uint64_t heap_bytes(const struct facts *facts, const struct live_block *block)
{
    return facts->definitions->has_no_addresses ? 0
                                                : occupied_bytes(block) - own_pages(facts, block);
}

/* It shows how far its heap reaches, and which blocks lie where. */
static int born_in_heap(struct facts *facts, uint32_t process, const struct live_block *block,
                        struct error *err)
{
    const struct heap_birth birth = {.time_ns = block->alloc_ns,
                                     .address = block->address,
                                     .usable_bytes = occupied_bytes(block),
                                     .process = process,
                                     .call = block->call};
    int code = heap_ranges_born(facts->heaps, &birth, err);

    if (code || !(block->call & LOG_CHUNK_KNOWN)
        || !heap_ranges_is_heap_block(block->call, birth.usable_bytes))
        return code;
    return memory_samples_born(
        facts->memory_samples, process,
        &(struct seen_extent){.start = birth.address,
                              .end = birth.address + birth.usable_bytes,
                              .is_arena = (block->call & LOG_CHUNK_NON_MAIN) != 0},
        err);
}

static int on_born(void *context, uint32_t process, const struct live_block *block, uint32_t group,
                   const struct pairing_link *link, struct error *err)
{
    struct facts *facts = context;
    int code = totals_born(facts->totals, process, block, link, err);

    facts->processes[process].own_block_bytes += own_pages(facts, block);
    facts->processes[process].heap_block_bytes += heap_bytes(facts, block);
    facts->processes[process].allocated_bytes += block->size;

    timeline_count_birth(&facts->processes[process].timeline, block->size);
    if (code == 0 && !facts->definitions->has_no_addresses)
        code = born_in_heap(facts, process, block, err);
    if (code == 0 && facts->groups)
        code = group_totals_born(facts->groups, process, block, group, err);
    if (code == 0 && facts->pools)
        code = pool_blocks_outer_born(facts->pools, process, block, link, err);
    return code || !facts->fates ? code : fates_born(facts->fates, block, group, link, err);
}

static int on_moved(void *context, uint32_t process, const struct live_block *block,
                    const struct pairing_move *move, struct error *err)
{
    struct facts *facts = context;
    int code = facts->groups ? group_totals_moved(facts->groups, process, block, move, err) : 0;

    return code || !facts->fates ? code : fates_moved(facts->fates, block, move->group, err);
}

static int on_ended(void *context, uint32_t process, const struct live_block *block,
                    const struct pairing_end *end, struct error *err)
{
    struct facts *facts = context;
    int code = totals_ended(facts->totals, process, block, end, err);

    facts->processes[process].own_block_bytes -= own_pages(facts, block);
    facts->processes[process].heap_block_bytes -= heap_bytes(facts, block);
    timeline_count_end(&facts->processes[process].timeline, block->size);
    if (code == 0 && facts->groups)
        code = group_totals_ended(facts->groups, process, block, end, err);
    if (code == 0 && facts->pools)
        code = pool_blocks_outer_ended(facts->pools, process, block, end, err);
    if (code == 0 && facts->blocks)
        code = moment_blocks_ended(facts->blocks, process, block, err);
    return code || !facts->fates ? code : fates_ended(facts->fates, block, end, err);
}

static int on_explained(void *context, uint32_t process, const struct live_block *block,
                        const struct pairing_end *end, struct error *err)
{
    struct facts *facts = context;
    int code = totals_explained(facts->totals, process, block, end, err);

    if (code == 0 && facts->groups)
        code = group_totals_explained(facts->groups, process, block, end, err);
    return code || !facts->fates ? code : fates_ended(facts->fates, block, end, err);
}

static int on_chain_ended(void *context, const struct pairing_chain *chain, struct error *err)
{
    struct facts *facts = context;
    bool leaked = chain->end_ns == PAIRING_UNKNOWN
                  && !pairing_process_get(facts->pairing, chain->process)->ended_in_exec;
    int code = chain_totals_add(&facts->chains, chain, leaked, err);

    return code || !facts->fates ? code : fates_chain_ended(facts->fates, chain, err);
}

/* leaked_births.part */
static uint32_t part_of_life(const struct facts *facts, uint32_t process, uint64_t time_ns)
{
    uint64_t start_ns = facts->processes[process].timeline.start_ns;
    uint64_t end_ns = facts->processes[process].last_ns;
    uint64_t part_ns = end_ns > start_ns ? (end_ns - start_ns) / LIFE_PARTS : 0;
    uint64_t part = part_ns && time_ns > start_ns ? (time_ns - start_ns) / part_ns : 0;

    return part < LIFE_PARTS ? (uint32_t)part : LIFE_PARTS - 1;
}

static int on_leaked(struct facts *facts, uint32_t process, const struct live_block *block,
                     uint32_t group, struct error *err)
{
    int code = facts->is_lean
                   ? 0
                   : tally_add(&facts->totals->leaked_births, process, block->node,
                               part_of_life(facts, process, block->alloc_ns), 1, block->size, err);

    phases_leaked(&facts->processes[process].phases, block->allocation_id, block->size);
    if (code == 0 && facts->groups)
        code = group_totals_leaked(facts->groups, process, block, group, err);
    return code;
}

static int on_left(void *context, uint32_t process, const struct live_block *block, uint32_t group,
                   enum pairing_ended_by ended_by, uint32_t chain_node, struct error *err)
{
    struct facts *facts = context;
    struct pairing_end end = {
        .intervening = PAIRING_UNKNOWN, .group = group, .block_group = group, .ended_by = ended_by};
    int code = totals_left(facts->totals, process, block, ended_by, chain_node, err);

    if (code == 0 && facts->blocks)
        code = moment_blocks_left(facts->blocks, process, block, err);
    if (code == 0 && ended_by == PAIRING_LEAKED)
        code = on_leaked(facts, process, block, group, err);
    if (code == 0 && ended_by == PAIRING_EXEC && facts->fates)
        code = fates_ended(facts->fates, block, &end, err);
    return code;
}

/* ---- making and freeing ---- */

static bool has_dropped_events(const struct definitions_process *process)
{
    for (int i = 0; i < LOG_DROP_REASONS; i++)
        if (process->dropped[i])
            return true;
    return false;
}

static bool is_untraced(const struct definitions_process *process)
{
    return (process->flags & (LOG_FLAG_STARTED_OFF | LOG_FLAG_SIDE_TRACING_OFF)) != 0;
}

/* What the log's header says, which may be later than the end that was asked for. */
static bool is_exec(const struct definitions_process *process)
{
    return process->end_kind && strcmp(process->end_kind, "exec") == 0;
}

static struct pairing_process traits_of(const struct definitions_process *process)
{
    const uint32_t untracked =
        LOG_FLAG_STARTED_OFF | LOG_FLAG_SIDE_TRACING_OFF | LOG_FLAG_FOREIGN_NEW;

    return (struct pairing_process){
        .is_forked = (process->flags & LOG_FLAG_FORKED) != 0,
        .has_lost_events = process->has_lost_events || has_dropped_events(process),
        .has_untracked_blocks = (process->flags & untracked) != 0,
        .ended_in_exec = !process->is_cut && is_exec(process),
    };
}

static void process_begin(struct facts *facts, uint32_t id)
{
    const struct definitions_process *process = &facts->definitions->processes[id];
    struct process_facts *own = &facts->processes[id];

    own->last_ns = process->last_ns > process->start_ns ? process->last_ns : process->start_ns;
    own->traits = traits_of(process);
    *pairing_process_get(facts->pairing, id) = own->traits;
    timeline_init(&own->timeline, process->start_ns);
    mappings_init(&own->mappings, id, facts->page_bytes[id], &facts->last_mapping_id,
                  facts->sink.mapping, facts->sink.context);
    own->was_untraced = own->is_untraced = is_untraced(process);
    /* what the header of an image before an exec knows as last is the next image's */
    snapshots_plan(facts->snapshots, id, process->start_ns,
                   is_exec(process) ? process->start_ns : process->last_ns);
}

/* The header of a damaged log may say anything. */
static uint32_t plausible_page_bytes(uint32_t page_bytes)
{
    bool is_power_of_two = (page_bytes & (page_bytes - 1)) == 0;

    return is_power_of_two && page_bytes >= 4096 && page_bytes <= 1 << 20 ? page_bytes : 4096;
}

static int make_arrays(struct facts *facts, size_t n, struct error *err)
{
    facts->processes = calloc(n + 1, sizeof *facts->processes);
    facts->page_bytes = calloc(n + 1, sizeof *facts->page_bytes);
    for (int i = 0; i < FACTS_MOMENTS; i++)
        facts->moments_ns[i] = calloc(n + 1, sizeof **facts->moments_ns);
    if (!facts->processes || !facts->page_bytes || !facts->moments_ns[FACTS_AT_PEAK]
        || !facts->moments_ns[FACTS_AT_END])
        return error_set(err, ERROR_NOMEM, "out of memory for %zu processes", n);
    for (size_t i = 1; i <= n; i++) { /* those to come are of the same machine */
        size_t id = i <= facts->definitions->n_processes ? i : 1;
        facts->page_bytes[i] = plausible_page_bytes(facts->definitions->processes[id].page_bytes);
    }
    return 0;
}

static int make_parts(struct facts *facts, const char *target, struct error *err)
{
    const struct definitions *definitions = facts->definitions;
    uint32_t n_processes = facts->room.n_processes;
    uint32_t n_threads = facts->room.n_threads;
    struct pairing_sink sink = {facts,        on_born,        on_moved, on_ended,
                                on_explained, on_chain_ended, on_left};
    int code = make_arrays(facts, n_processes, err);

    if (code == 0)
        code = pairing_new(n_processes, n_threads, &sink, &facts->pairing, err);
    if (code == 0)
        code = totals_new(n_processes, n_threads, facts->room.n_nodes, &facts->totals, err);
    if (code == 0)
        code = heap_ranges_new(n_processes, facts->page_bytes, &facts->heaps, err);
    if (code == 0)
        code = group_totals_new(definitions, &facts->groups, err);
    if (code == 0)
        code = pool_blocks_new(definitions, target, &facts->pools, err);
    if (code == 0)
        code = fates_new(target, &facts->fates, err);
    if (code == 0)
        code = snapshots_new(n_processes, target, facts->sink.snapshot, facts->sink.context,
                             &facts->snapshots, err);
    if (code == 0)
        code = memory_samples_new(n_processes, facts->sink.memory, facts->sink.context,
                                  &facts->memory_samples, err);
    return code;
}

int facts_new(const struct definitions *definitions, const struct facts_room *room,
              const struct facts_sink *sink, const char *target, struct facts **ret,
              struct error *err)
{
    struct facts *facts = calloc(1, sizeof *facts);

    if (!facts)
        return error_set(err, ERROR_NOMEM, "out of memory");
    facts->sink = *sink;
    facts->definitions = definitions;
    facts->room = room ? *room
                       : (struct facts_room){(uint32_t)definitions->n_processes,
                                             (uint32_t)definitions->n_threads,
                                             (uint32_t)definitions->n_backtraces};
    int code = make_parts(facts, target, err);
    if (code) {
        facts_free(facts);
        return code;
    }
    while (facts->n_processes < definitions->n_processes)
        process_begin(facts, ++facts->n_processes);
    *ret = facts;
    return 0;
}

int facts_keep_moments(struct facts *facts, struct error *err)
{
    return moment_blocks_new(facts->room.n_processes, &facts->blocks, err);
}

void facts_be_lean(struct facts *facts)
{
    facts->is_lean = true;
    moment_blocks_free(facts->blocks);
    facts->blocks = NULL;
}

void facts_leave_rows_out(struct facts *facts)
{
    fates_free(facts->fates);
    facts->fates = NULL;
}

/* Is it the process that it was, only longer? */
static bool process_continue(struct facts *facts, uint32_t id)
{
    const struct definitions_process *process = &facts->definitions->processes[id];
    struct process_facts *own = &facts->processes[id];
    struct pairing_process traits = traits_of(process);

    if (process->last_ns > own->last_ns)
        own->last_ns = process->last_ns;
    pairing_process_get(facts->pairing, id)->ended_in_exec = own->traits.ended_in_exec =
        traits.ended_in_exec;
    return process->start_ns == own->timeline.start_ns && is_untraced(process) == own->is_untraced
           && traits.is_forked == own->traits.is_forked
           && traits.has_lost_events == own->traits.has_lost_events
           && traits.has_untracked_blocks == own->traits.has_untracked_blocks;
}

bool facts_continue(struct facts *facts, const struct definitions *definitions)
{
    bool is_same = definitions->n_processes <= facts->room.n_processes
                   && definitions->n_processes >= facts->n_processes
                   && definitions->n_threads <= facts->room.n_threads
                   && definitions->n_backtraces <= facts->room.n_nodes
                   && (definitions->n_groups > 0) == (facts->groups != NULL)
                   && (definitions->n_pools > 0) == (facts->pools != NULL);

    facts->definitions = definitions;
    if (facts->groups)
        facts->groups->definitions = definitions;
    for (uint32_t id = 1; is_same && id <= facts->n_processes; id++)
        is_same = process_continue(facts, id);
    while (is_same && facts->n_processes < definitions->n_processes) {
        uint32_t id = ++facts->n_processes;
        is_same =
            plausible_page_bytes(definitions->processes[id].page_bytes) == facts->page_bytes[id];
        process_begin(facts, id);
    }
    return is_same;
}

void facts_free(struct facts *facts)
{
    if (!facts)
        return;
    for (size_t i = 0; facts->processes && i <= facts->n_processes; i++) {
        timeline_done(&facts->processes[i].timeline);
        mappings_done(&facts->processes[i].mappings);
        phases_done(&facts->processes[i].phases);
    }
    for (int i = 0; i < FACTS_MOMENTS; i++) {
        heap_pages_done(&facts->pages[i]);
        free(facts->moments_ns[i]);
    }
    memory_samples_free(facts->memory_samples);
    snapshots_free(facts->snapshots);
    fates_free(facts->fates);
    heap_ranges_free(facts->heaps);
    moment_blocks_free(facts->blocks);
    totals_free(facts->totals);
    group_totals_free(facts->groups);
    pool_blocks_free(facts->pools);
    object_walks_done(&facts->walks);
    pairing_free(facts->pairing);
    keyed_done(&facts->chains);
    free(facts->page_bytes);
    free(facts->processes);
    free(facts);
}

/* ---- events ---- */

/* A new instant begins: what was live until now counts for the timeline and for snapshots. */
static int advance(struct facts *facts, const struct event *event, struct error *err)
{
    struct process_facts *process = &facts->processes[event->process];
    const struct process_totals *totals = &facts->totals->processes[event->process];
    int code = timeline_advance(&process->timeline, event->time_ns, totals->live_bytes,
                                totals->live_blocks, err);

    process->event_ns = event->time_ns;
    if (event->time_ns > process->last_ns)
        process->last_ns = event->time_ns;
    phases_advance(&process->phases, totals->live_bytes);
    if (facts->blocks && totals->peak_ns != TOTALS_NEVER)
        moment_blocks_peak(facts->blocks, event->process, totals->peak_ns,
                           facts_n_allocations(facts));
    if (code == 0)
        code =
            snapshots_advance(facts->snapshots, facts->totals, event->process, event->time_ns, err);
    return code;
}

/* The program's own log says how far a heap reaches. */
static int heap_seen(struct facts *facts, const struct event *event, uint64_t start, uint64_t end,
                     enum log_heap_kind kind, struct error *err)
{
    int code = memory_samples_extent(
        facts->memory_samples, event->process,
        &(struct seen_extent){.start = start, .end = end, .is_arena = kind == LOG_HEAP_ARENA}, err);

    return code ? code
                : heap_ranges_extent(facts->heaps, event->process, event->time_ns, start, end, kind,
                                     err);
}

/* The program moved the break itself: its heap reaches from the lowest one seen to this. */
static int break_moved(struct facts *facts, const struct event *event, struct error *err)
{
    struct process_facts *process = &facts->processes[event->process];
    uint64_t lower = event->old_address < event->address ? event->old_address : event->address;

    if (process->lowest_break == 0 || lower < process->lowest_break)
        process->lowest_break = lower;
    return heap_seen(facts, event, process->lowest_break, event->address, LOG_HEAP_BRK, err);
}

static struct phase_figures figures_of(const struct facts *facts, uint32_t process)
{
    const struct process_totals *totals = &facts->totals->processes[process];
    uint64_t allocated_bytes = facts->processes[process].allocated_bytes;

    return (struct phase_figures){
        .allocated_blocks = totals->n_births,
        .allocated_bytes = allocated_bytes,
        .freed_blocks = totals->n_ends,
        .freed_bytes = allocated_bytes - totals->live_bytes,
        .live_bytes = totals->live_bytes,
    };
}

static int phase_event(struct facts *facts, const struct event *event, struct error *err)
{
    struct phase_figures figures = figures_of(facts, event->process);
    bool is_known = true;
    int code = phases_event(&facts->processes[event->process].phases, event, &figures,
                            facts_n_allocations(facts), &is_known, err);

    facts->n_unknown_phase_ends += !is_known;
    return code;
}

static MTRACE_COLD int culled_event(struct facts *facts, const struct event *event,
                                    struct error *err)
{
    struct culled_blocks culled = {.process = event->process,
                                   .thread = event->thread,
                                   .node = event->node,
                                   .free_node = known_node(event->free_node),
                                   .n_blocks = event->n_culled,
                                   .bytes = event->size,
                                   .time_ns = event->time_ns,
                                   .are_temporary = event->are_temporary};
    int code = pairing_event(facts->pairing, event, err);

    if (code == 0 && facts->groups)
        code = group_totals_culled(facts->groups, event->process, event->group, event->n_culled,
                                   event->size, err);
    return code ? code : totals_culled(facts->totals, &culled, err);
}

static int pool_event(struct facts *facts, const struct event *event, struct error *err)
{
    if (facts->pools)
        return pool_blocks_event(facts->pools, event, err);
    facts->n_lost_pool_events++;
    return 0;
}

static void tracing_event(struct facts *facts, const struct event *event)
{
    struct pairing_process *process = pairing_process_get(facts->pairing, event->process);

    process->is_untraced = event->value == 0;
    if (event->value == 0) {
        process->has_untracked_blocks = true;
        facts->processes[event->process].was_untraced = true;
    }
}

static void end_event(struct facts *facts, const struct event *event)
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

bool facts_has_ended(const struct facts *facts, uint32_t process)
{
    return !facts->definitions->processes[process].is_cut || facts->processes[process].has_ended;
}

static MTRACE_COLD int rare_event(struct facts *facts, const struct event *event, struct error *err)
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
        tracing_event(facts, event);
        return 0;
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
    case EVENT_CULLED:
        return culled_event(facts, event, err);
    case EVENT_END: /* one that is taken back says so by another one */
        end_event(facts, event);
        return facts->sink.event(facts->sink.context, event, err);
    default:
        return facts->sink.event(facts->sink.context, event, err);
    }
}

void facts_expect(struct facts *facts, const struct event *events, size_t n_events)
{
    if (n_events > EXPECT_SLOT)
        pairing_expect_slot(facts->pairing, &events[EXPECT_SLOT]);
    if (n_events > EXPECT_BLOCK) {
        const struct event *event = &events[EXPECT_BLOCK];
        if (event->kind == EVENT_ALLOC || event->kind == EVENT_REALLOC_END)
            totals_expect(facts->totals, event->process, event->node);
        else
            pairing_expect_block(facts->pairing, event);
    }
}

int facts_event(struct facts *facts, const struct event *event, struct error *err)
{
    /* A realloc arrives as two events, but is one in the log; a loss is none of it. */
    if (event->kind != EVENT_REALLOC_END && event->kind != EVENT_LOST) {
        facts->n_events++;
        facts->processes[event->process].n_events++;
    }
    if (totals_advance(facts->totals, event->process, event->time_ns)) {
        int code = advance(facts, event, err);
        if (code)
            return code;
    }
    switch (event->kind) {
    case EVENT_ALLOC:
    case EVENT_REALLOC_END:
        return pairing_event(facts->pairing, event, err);
    case EVENT_FREE:
    case EVENT_REALLOC_BEGIN:
        if (mtrace_unlikely(event->node == DEFINITIONS_NO_BACKTRACE)) {
            struct event bare = *event;
            bare.node = 0;
            return pairing_event(facts->pairing, &bare, err);
        }
        return pairing_event(facts->pairing, event, err);
    default:
        return rare_event(facts, event, err);
    }
}

int facts_memory_sample(struct facts *facts, uint32_t process, uint64_t time_ns, uint64_t rss_bytes,
                        uint64_t anonymous_bytes, uint64_t file_bytes, struct error *err)
{
    const struct process_facts *own = &facts->processes[process];
    struct memory_sample sample = {.process = process,
                                   .time_ns = time_ns,
                                   .rss_bytes = rss_bytes,
                                   .anonymous_bytes = anonymous_bytes,
                                   .file_bytes = file_bytes,
                                   .heaps_bytes = own->heap_block_bytes,
                                   .mapped_bytes =
                                       own->own_block_bytes + own->mappings.anonymous_bytes};

    return memory_samples_totals(facts->memory_samples, &sample, err);
}

void facts_own_sample(struct facts *facts, uint32_t process, uint64_t own_bytes)
{
    memory_samples_own(facts->memory_samples, process, own_bytes);
}

int facts_heap_sample(struct facts *facts, uint32_t process, uint64_t time_ns, uint64_t start,
                      uint64_t end, enum log_heap_kind kind, struct error *err)
{
    int code = memory_samples_heap(
        facts->memory_samples, process, time_ns,
        &(struct seen_extent){.start = start, .end = end, .is_arena = kind == LOG_HEAP_ARENA}, err);

    return code ? code : heap_ranges_extent(facts->heaps, process, time_ns, start, end, kind, err);
}

void facts_mapping_sample(struct facts *facts, uint32_t process, uint64_t time_ns, uint64_t start,
                          uint64_t end, uint64_t rss_bytes)
{
    mappings_sample(&facts->processes[process].mappings, time_ns, start, end, rss_bytes);
}

/* ---- the end of pass 1 ---- */

static int finish_process(struct facts *facts, uint32_t id, struct error *err)
{
    struct process_facts *process = &facts->processes[id];
    const struct process_totals *totals = &facts->totals->processes[id];

    if (process->has_exec) /* the recorder knows only when the last image ended */
        process->last_ns = process->event_ns;
    int code = timeline_finish(&process->timeline, process->last_ns, totals->live_bytes,
                               totals->live_blocks, err);

    facts->moments_ns[FACTS_AT_PEAK][id] = totals->peak_ns;
    facts->moments_ns[FACTS_AT_END][id] = process->last_ns;
    if (facts->is_lean)
        return code ? code : mappings_finish(&process->mappings, err);
    if (code == 0) /* nothing changed since its last event, but time went on */
        code = snapshots_advance(facts->snapshots, facts->totals, id, process->last_ns, err);
    if (code == 0)
        code = snapshots_finish(facts->snapshots, facts->totals, id, process->last_ns,
                                &process->peak_snapshot_id, &process->end_snapshot_id, err);
    return code ? code : mappings_finish(&process->mappings, err);
}

/* HR-4. A fork child has what its parent had at the fork, which may have been inherited, too. */
static void mark_unseen_blocks(struct facts *facts, uint32_t id)
{
    const struct definitions_process *processes = facts->definitions->processes;
    uint32_t child = id;

    while (processes[child].flags & LOG_FLAG_FORKED) {
        uint32_t parent = processes[child].parent;
        bool is_known = parent && parent < child && !facts->processes[parent].was_untraced;
        heap_ranges_mark_inherited(facts->heaps, id, is_known ? parent : 0,
                                   processes[child].start_ns);
        if (!is_known)
            break;
        child = parent;
    }
    if (facts->processes[id].was_untraced)
        heap_ranges_mark_untracked(facts->heaps, id);
}

int facts_finish(struct facts *facts, struct error *err)
{
    totals_finish(facts->totals);
    if (facts->groups)
        group_totals_finish(facts->groups);
    for (uint32_t id = 1; id <= facts->definitions->n_processes; id++) {
        struct phase_figures figures = figures_of(facts, id);
        phases_finish(&facts->processes[id].phases, &figures, facts_n_allocations(facts));
    }
    for (uint32_t id = 1; facts->blocks && id <= facts->definitions->n_processes; id++)
        if (facts->totals->processes[id].peak_ns != TOTALS_NEVER)
            moment_blocks_peak(facts->blocks, id, facts->totals->processes[id].peak_ns,
                               facts_n_allocations(facts));
    int code = pairing_finish(facts->pairing, err);
    if (code == 0 && facts->pools)
        code = pool_blocks_finish(facts->pools, err);
    if (code == 0)
        code = totals_flush(facts->totals, err);
    malloc_trim(0); /* the live blocks are gone; the second pass has large tables of its own */

    for (uint32_t id = 1; code == 0 && id <= facts->definitions->n_processes; id++)
        code = finish_process(facts, id, err);
    if (code == 0)
        code = memory_samples_finish(facts->memory_samples, err);
    if (code == 0)
        code = heap_ranges_finish(facts->heaps, err);
    for (uint32_t id = 1; code == 0 && id <= facts->definitions->n_processes; id++)
        mark_unseen_blocks(facts, id);
    return code;
}

static void renumber_tally(struct keyed *tally, const uint32_t *from, const uint32_t *to)
{
    struct tally_entry *entries = tally->elements;

    for (size_t i = 0; i < tally->n; i++) {
        entries[i].from = from[entries[i].from];
        entries[i].to = to ? to[entries[i].to] : entries[i].to;
    }
}

static int renumber_threads(struct totals *totals, const struct facts *facts, struct error *err)
{
    size_t n = facts->definitions->n_threads;
    struct thread_totals *threads = calloc((size_t)totals->n_threads + 1, sizeof *threads);

    if (!threads)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of %zu threads", n);
    for (size_t number = 1; number <= n; number++)
        threads[facts->ids.threads[number]] = totals->threads[number];
    free(totals->threads);
    totals->threads = threads;
    return 0;
}

int facts_renumber(struct facts *facts, const struct facts_ids *ids, struct error *err)
{
    struct totals *totals = facts->totals;
    struct chain_totals_entry *chains = facts->chains.elements;

    facts->ids = *ids;
    for (uint32_t id = 1; id <= facts->n_processes; id++) {
        const struct process_totals *process = &totals->processes[id];
        struct phases *phases = &facts->processes[id].phases;
        for (uint32_t i = 0; i < process->n_stacks; i++) {
            struct stack_totals *stack = totals_stack(process, i);
            stack->node = ids->backtraces[stack->node];
        }
        for (size_t i = 0; i < phases->n; i++)
            phases->list[i].thread = ids->threads[phases->list[i].thread];
    }
    renumber_tally(&totals->free_sites, ids->backtraces, ids->backtraces);
    renumber_tally(&totals->flows, ids->threads, ids->threads);
    renumber_tally(&totals->leaked_births, ids->backtraces, NULL);
    renumber_tally(&facts->walks.unclaimed, ids->backtraces, NULL);
    for (size_t i = 0; i < facts->walks.n; i++)
        facts->walks.list[i].thread = ids->threads[facts->walks.list[i].thread];
    for (size_t i = 0; i < facts->chains.n; i++)
        chains[i].first_node = ids->backtraces[chains[i].first_node];
    return renumber_threads(totals, facts, err);
}

/* ---- pass 2 ---- */

static int init_pages(struct facts *facts, struct error *err)
{
    int code = 0;

    for (int i = 0; code == 0 && i < FACTS_MOMENTS; i++)
        code = heap_pages_init(&facts->pages[i], facts->heaps, facts->page_bytes,
                               facts->definitions->backtraces, err);
    return code;
}

int facts_begin_rows(struct facts *facts, struct error *err)
{
    int code = fates_rewind(facts->fates, err);

    return code ? code : init_pages(facts, err);
}

static bool live_at(const struct allocation *allocation, uint64_t time_ns)
{
    if (allocation->alloc_ns > time_ns)
        return false;
    return allocation->lifetime_ns == PAIRING_UNKNOWN
           || allocation->alloc_ns + allocation->lifetime_ns > time_ns;
}

/* Where the block lay, and whether it was there at the moments that are looked at. */
static int place(struct facts *facts, struct allocation *allocation, struct error *err)
{
    uint32_t process = facts->definitions->threads[allocation->thread].process;
    uint64_t occupied = allocation->size_bytes;
    int code = 0;

    if (facts->definitions->has_no_addresses) {
        allocation->address = UINT64_MAX;
        return 0;
    }
    if (allocation->slack_bytes != LIVE_BLOCK_SLACK_UNKNOWN)
        occupied += allocation->slack_bytes;
    if (!heap_ranges_is_heap_block(allocation->call, occupied))
        return 0;
    allocation->heap = heap_ranges_find(facts->heaps, process, allocation->address);
    uint64_t peak_ns = facts->moments_ns[FACTS_AT_PEAK][process];
    if (peak_ns != TOTALS_NEVER && live_at(allocation, peak_ns))
        code = heap_pages_add(&facts->pages[FACTS_AT_PEAK], allocation, err);
    if (code == 0 && allocation->lifetime_ns == PAIRING_UNKNOWN)
        code = heap_pages_add(&facts->pages[FACTS_AT_END], allocation, err);
    return code;
}

static void renumber_row(struct facts *facts, struct allocation *allocation,
                         const struct pairing_chain **chain)
{
    const struct facts_ids *ids = &facts->ids;

    allocation->node = ids->backtraces[allocation->node];
    allocation->free_node = ids->backtraces[allocation->free_node];
    allocation->thread = ids->threads[allocation->thread];
    allocation->free_thread = ids->threads[allocation->free_thread];
    if (*chain) {
        facts->chain = **chain;
        facts->chain.first_node = ids->backtraces[facts->chain.first_node];
        facts->chain.last_node = ids->backtraces[facts->chain.last_node];
        *chain = &facts->chain;
    }
}

int facts_next_row(struct facts *facts, struct allocation *ret_allocation,
                   const struct pairing_chain **ret_chain, struct error *err)
{
    int more = fates_next(facts->fates, ret_allocation, ret_chain, err);

    if (more > 0 && mtrace_unlikely(facts->ids.threads != NULL))
        renumber_row(facts, ret_allocation, ret_chain);
    if (more > 0) {
        int code = place(facts, ret_allocation, err);
        if (code)
            return code;
    }
    return more;
}

/* As place does with a row. */
static int place_kept(struct facts *facts, const struct moment_block *block, struct error *err)
{
    struct allocation allocation = {.allocation_id = block->allocation_id,
                                    .address = block->address,
                                    .size_bytes = block->size_bytes,
                                    .slack_bytes = block->slack_bytes,
                                    .node = block->node,
                                    .call = block->call};
    uint64_t occupied = block->size_bytes;
    int code = 0;

    if (facts->ids.backtraces)
        allocation.node = facts->ids.backtraces[block->node];
    if (block->slack_bytes != LIVE_BLOCK_SLACK_UNKNOWN)
        occupied += block->slack_bytes;
    if (!heap_ranges_is_heap_block(block->call, occupied))
        return 0;
    allocation.heap = heap_ranges_find(facts->heaps, block->process, block->address);
    if (block->is_at_peak)
        code = heap_pages_add(&facts->pages[FACTS_AT_PEAK], &allocation, err);
    if (code == 0 && block->is_at_end)
        code = heap_pages_add(&facts->pages[FACTS_AT_END], &allocation, err);
    return code;
}

int facts_skip_rows(struct facts *facts, bool *ret_were_skipped, struct error *err)
{
    const struct moment_block *blocks = NULL;
    size_t n = 0;
    int code;

    *ret_were_skipped = facts->blocks != NULL;
    if (!facts->blocks)
        return 0;
    code = init_pages(facts, err);
    if (code == 0)
        code = moment_blocks_sort(facts->blocks, &blocks, &n, err);
    for (size_t i = 0; code == 0 && i < n; i++)
        code = place_kept(facts, &blocks[i], err);
    return code ? code : facts_end_rows(facts, err);
}

int facts_end_rows(struct facts *facts, struct error *err)
{
    int code = 0;

    for (int i = 0; code == 0 && i < FACTS_MOMENTS; i++)
        code = heap_pages_finish(&facts->pages[i], facts->moments_ns[i], err);
    return code;
}

uint64_t facts_event_ns(const struct facts *facts, uint32_t process)
{
    return process <= facts->n_processes ? facts->processes[process].event_ns : 0;
}

uint64_t facts_n_allocations(const struct facts *facts)
{
    return pairing_counts_get(facts->pairing)->allocations;
}

uint64_t facts_n_events(const struct facts *facts)
{
    return facts->n_events;
}

uint64_t facts_n_anomalies(const struct facts *facts)
{
    const struct pairing_counts *counts = pairing_counts_get(facts->pairing);

    return counts->unknown_frees + counts->unknown_reallocs + counts->double_allocations
           + counts->clock_inversions;
}
