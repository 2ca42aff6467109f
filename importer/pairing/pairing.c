/* SPDX-License-Identifier: MIT */
#include "importer/pairing/pairing.h"

#include "importer/pairing/pending.h"
#include "lib/abi/attr.h"
#include "lib/abi/invariant.h"
#include "lib/abi/log_format.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

/* A chain with at least one reallocation; its last block is live, or its realloc is open. */
struct chain {
    uint64_t chain_id;
    uint64_t start_ns;
    uint64_t first_size;
    uint64_t copied_bytes;
    uint32_t length;
    uint32_t moves;
    uint32_t first_backtrace;
    uint32_t next_free; /* index of the next unused chain; 0: none */
};

/* Between the two events of a realloc. */
struct open_realloc {
    uint64_t pair;
    uint64_t old_id; /* 0: the old block is unknown */
    uint64_t old_size;
    uint64_t old_address;
    uint32_t chain;
    uint32_t old_call; /* LOG_CHUNK_* of the old block */
};

struct process {
    struct live_table live;
    struct pairing_process traits;
    bool showed_unknown_end; /* that no allocation explained: PA-6 */
    bool showed_unseen_end;  /* that no end explained: PA-7 */
    uint64_t inherited_frees;
};

/* Number of allocations by thread number. */
struct thread_allocations {
    uint64_t n;
    uint64_t n_before; /* by earlier threads with the number */
};

struct pairing {
    struct pairing_sink sink;
    struct pairing_counts counts;
    bool keeps_memory;                      /* of pairing_keep_memory */
    struct process *processes;              /* by id */
    struct thread_allocations *allocations; /* by thread id */
    uint32_t n_processes, n_threads;
    struct chain *chains; /* 1-based */
    uint32_t n_chains, free_chain;
    size_t max_chains;
    struct open_realloc *open;
    size_t n_open, max_open;
    struct pending_list ends; /* unknown ends */
    struct pending_list unseen;
};

int pairing_new(uint32_t n_processes, uint32_t n_threads, const struct pairing_sink *sink,
                struct pairing **ret, struct error *err)
{
    struct pairing *pairing = calloc(1, sizeof *pairing);

    if (pairing) {
        pairing->processes = calloc((size_t)n_processes + 1, sizeof *pairing->processes);
        pairing->allocations = calloc((size_t)n_threads + 1, sizeof *pairing->allocations);
    }
    if (!pairing || !pairing->processes || !pairing->allocations) {
        pairing_free(pairing);
        return error_set(err, ERROR_NOMEM, "out of memory for %u processes and %u threads",
                         n_processes, n_threads);
    }
    pairing->sink = *sink;
    pairing->n_processes = n_processes;
    pairing->n_threads = n_threads;
    for (uint32_t i = 0; i <= n_processes; i++)
        live_table_init(&pairing->processes[i].live);
    *ret = pairing;
    return 0;
}

void pairing_free(struct pairing *pairing)
{
    if (!pairing)
        return;
    for (uint32_t i = 0; pairing->processes && i <= pairing->n_processes; i++)
        live_table_done(&pairing->processes[i].live);
    free(pairing->processes);
    free(pairing->allocations);
    free(pairing->chains);
    free(pairing->open);
    free(pairing);
}

struct pairing_process *pairing_process_get(struct pairing *pairing, uint32_t process)
{
    return &pairing->processes[process].traits;
}

/* ---- chains ---- */

static int chain_new(struct pairing *pairing, const struct live_block *first, uint32_t *ret_chain,
                     struct error *err)
{
    uint32_t index = pairing->free_chain;

    if (index) {
        pairing->free_chain = pairing->chains[index].next_free;
    } else {
        struct chain *chains = dynamic_array_reserve(pairing->chains, &pairing->max_chains,
                                                     (size_t)pairing->n_chains + 2, sizeof *chains);
        if (!chains)
            return error_set(err, ERROR_NOMEM, "out of memory for %u chains", pairing->n_chains);
        pairing->chains = chains;
        index = ++pairing->n_chains;
    }
    pairing->chains[index] = (struct chain){
        .chain_id = first->allocation_id,
        .start_ns = first->alloc_ns,
        .first_size = first->size,
        .length = 1,
        .first_backtrace = first->backtrace,
    };
    *ret_chain = index;
    return 0;
}

static void chain_free(struct pairing *pairing, uint32_t index)
{
    pairing->chains[index].next_free = pairing->free_chain;
    pairing->free_chain = index;
}

/* Ends the chain of a block whose end is final: end_ns, or never. */
static int chain_end(struct pairing *pairing, uint32_t process, const struct live_block *last,
                     uint64_t end_ns, struct error *err)
{
    const struct chain *chain = &pairing->chains[last->chain];
    struct pairing_chain reported = {
        .chain_id = chain->chain_id,
        .last_allocation_id = last->allocation_id,
        .length = chain->length,
        .first_size = chain->first_size,
        .last_size = last->size,
        .start_ns = chain->start_ns,
        .end_ns = end_ns,
        .copied_bytes = chain->copied_bytes,
        .moves = chain->moves,
        .process = process,
        .first_backtrace = chain->first_backtrace,
        .last_backtrace = last->backtrace,
    };
    chain_free(pairing, last->chain);
    return pairing->sink.chain_ended(pairing->sink.context, &reported, err);
}

/* ---- unmatched ends and allocations ---- */

static bool has_all_allocations(const struct process *process)
{
    const struct pairing_process *traits = &process->traits;

    return !traits->is_forked && !traits->has_untracked_blocks && !traits->has_lost_events
           && !process->showed_unknown_end;
}

static bool has_all_ends(const struct process *process)
{
    return !process->traits.has_lost_events && !process->showed_unseen_end;
}

static int count_unknown_end(struct pairing *pairing, const struct pairing_unmatched *end,
                             struct error *err)
{
    struct process *process = &pairing->processes[end->process];

    process->showed_unknown_end = true;
    if (process->traits.is_forked) {
        process->inherited_frees++;
        return 0;
    }
    if (process->traits.has_untracked_blocks) {
        pairing->counts.untracked_frees++;
        return 0;
    }
    if (end->is_realloc)
        pairing->counts.unknown_reallocs++;
    else
        pairing->counts.unknown_frees++;
    return pairing->sink.unmatched ? pairing->sink.unmatched(pairing->sink.context, end, err) : 0;
}

/* Gives up on items older than an inversion can be, and on the oldest if the list is full. */
static int expire_ends(struct pairing *pairing, uint64_t now_ns, struct error *err)
{
    struct pending_list *list = &pairing->ends;
    int code = 0;

    while (code == 0 && list->n
           && (list->n == PENDING_MAX || now_ns - list->items[0].time_ns > PAIRING_INVERSION_NS)) {
        const struct pending *item = &list->items[0];
        const struct pairing_unmatched end = {.time_ns = item->time_ns,
                                              .address = item->address,
                                              .process = item->process,
                                              .thread = item->thread,
                                              .backtrace = item->backtrace,
                                              .is_realloc = item->is_realloc};

        code = count_unknown_end(pairing, &end, err);
        pending_remove(list, &list->items[0]);
    }
    return code;
}

static void expire_unseen(struct pairing *pairing, uint64_t now_ns)
{
    struct pending_list *list = &pairing->unseen;

    while (list->n
           && (list->n == PENDING_MAX || now_ns - list->items[0].time_ns > PAIRING_INVERSION_NS)) {
        pairing->counts.double_allocations++;
        pairing->processes[list->items[0].process].showed_unseen_end = true;
        pending_remove(list, &list->items[0]);
    }
}

/* An end without a live block: the allocation may come late or never. */
static MTRACE_COLD int unknown_end(struct pairing *pairing, const struct event *event,
                                   struct error *err)
{
    const struct pairing_unmatched end = {.time_ns = event->time_ns,
                                          .address = event->address,
                                          .process = event->process,
                                          .thread = event->thread,
                                          .backtrace = event->backtrace,
                                          .is_realloc = event->kind == EVENT_REALLOC_BEGIN};
    int code = expire_ends(pairing, event->time_ns, err);

    if (code)
        return code;
    if (!has_all_allocations(&pairing->processes[event->process]))
        return count_unknown_end(pairing, &end, err);
    pending_push(&pairing->ends, event);
    return 0;
}

/* ---- allocations and ends ---- */

static int end_block(struct pairing *pairing, uint32_t process, struct live_block *block,
                     const struct pairing_end *end, struct error *err)
{
    int code = pairing->sink.ended(pairing->sink.context, process, block, end, err);

    if (code == 0 && block->chain && end->ended_by != PAIRING_REALLOCATED)
        code = chain_end(pairing, process, block, end->time_ns, err);
    live_table_remove(&pairing->processes[process].live, block);
    return code;
}

/* Number of allocations by the same thread. PAIRING_UNKNOWN: an earlier thread with the number made
 * the block. */
static uint64_t allocations_since(const struct thread_allocations *allocations,
                                  const struct live_block *block)
{
    uint64_t n = (allocations->n - live_block_allocations(block)) & ((UINT64_C(1) << 40) - 1);

    return mtrace_likely(n < allocations->n - allocations->n_before) ? n : PAIRING_UNKNOWN;
}

/* PAIRING_UNKNOWN if another thread ends the block (PA-4). */
static uint64_t intervening_of(const struct pairing *pairing, const struct event *event,
                               const struct live_block *block)
{
    return event->thread == block->thread
               ? allocations_since(&pairing->allocations[event->thread], block)
               : PAIRING_UNKNOWN;
}

static int free_block(struct pairing *pairing, const struct event *event, struct live_block *block,
                      struct error *err)
{
    const struct pairing_end end = {
        .time_ns = event->time_ns,
        .intervening = intervening_of(pairing, event, block),
        .thread = event->thread,
        .backtrace = event->backtrace,
        .group = event->group,
        .block_group = live_table_group(&pairing->processes[event->process].live, block),
        .ended_by = PAIRING_FREED,
    };

    return end_block(pairing, event->process, block, &end, err);
}

/* An allocation at the address of a live block: that one ended unseen. */
static MTRACE_COLD int end_unseen(struct pairing *pairing, const struct event *event,
                                  struct live_block *block, struct error *err)
{
    struct pairing_end end = {
        .time_ns = event->time_ns,
        .intervening = PAIRING_UNKNOWN,
        .ended_by = PAIRING_MISSED_FREE,
    };
    end.group = end.block_group = live_table_group(&pairing->processes[event->process].live, block);
    expire_unseen(pairing, event->time_ns);
    if (has_all_ends(&pairing->processes[event->process])) {
        struct pending *item = pending_push(&pairing->unseen, event);
        item->block = *block;
        item->block_group = end.block_group;
    } else {
        pairing->counts.double_allocations++;
    }
    return end_block(pairing, event->process, block, &end, err);
}

/* The unseen end that this end of a block explains, or NULL. */
static MTRACE_COLD struct pending *find_unseen(struct pairing *pairing, const struct event *event)
{
    expire_unseen(pairing, event->time_ns);
    return has_all_ends(&pairing->processes[event->process])
               ? pending_find(&pairing->unseen, event, PAIRING_INVERSION_NS)
               : NULL;
}

/* The free that explains an unseen end arrived late. */
static MTRACE_COLD int explain(struct pairing *pairing, const struct event *event,
                               struct pending *item, struct error *err)
{
    struct pairing_end end = {
        .time_ns = item->time_ns,
        .intervening = PAIRING_UNKNOWN,
        .thread = event->thread,
        .backtrace = event->backtrace,
        .group = event->group,
        .block_group = item->block_group,
        .ended_by = PAIRING_FREED,
    };
    struct live_block block = item->block;

    pending_remove(&pairing->unseen, item);
    pairing->counts.clock_inversions++;
    return pairing->sink.explained(pairing->sink.context, event->process, &block, &end, err);
}

/* The end of the block just allocated has an earlier time than the allocation. If it was a realloc,
 * its result already exists without a link, so this block ends unseen. */
static MTRACE_COLD int end_at_allocation(struct pairing *pairing, const struct event *event,
                                         struct live_block *block, struct error *err)
{
    int code = expire_ends(pairing, event->time_ns, err);
    if (code)
        return code;
    struct pending *item = has_all_allocations(&pairing->processes[event->process])
                               ? pending_find(&pairing->ends, event, PAIRING_INVERSION_NS)
                               : NULL;
    if (!item)
        return 0;
    struct pairing_end end = {
        .time_ns = event->time_ns,
        .intervening = PAIRING_UNKNOWN,
        .thread = item->thread,
        .backtrace = item->backtrace,
        .group = item->group,
        .block_group = event->group,
        .ended_by = item->is_realloc ? PAIRING_MISSED_FREE : PAIRING_FREED,
    };
    pending_remove(&pairing->ends, item);
    pairing->counts.clock_inversions++;
    return end_block(pairing, event->process, block, &end, err);
}

/* Do all split fields fit in their first part? */
static bool is_small(const struct event *event, uint64_t slack, uint64_t allocations)
{
    return slack >> 16 == 0 && allocations >> 32 == 0 && event->alignment_log2 == 0;
}

static void fill_block(struct pairing *pairing, const struct event *event, uint32_t chain,
                       struct live_block *block)
{
    uint64_t slack = LIVE_BLOCK_SLACK_UNKNOWN;

    if (event->usable >= event->size && event->usable) {
        slack = event->usable - event->size;
        if (slack >= LIVE_BLOCK_SLACK_UNKNOWN)
            slack = LIVE_BLOCK_SLACK_UNKNOWN - 1;
    }
    /* Stores all fields together: a load of the whole after partial stores would stall. */
    uint64_t allocations = ++pairing->allocations[event->thread].n;
    if (mtrace_likely(is_small(event, slack, allocations))) {
        *block = (struct live_block){
            .address = block->address,
            .slack_low = slack & 0xffff,
            .allocation_id = ++pairing->counts.allocations & LIVE_BLOCK_MAX_ID,
            .call = (uint8_t)(event->call | event->chunk_flags),
            .alloc_ns = event->time_ns & ((UINT64_C(1) << 56) - 1),
            .size = event->size & ((UINT64_C(1) << 48) - 1),
            .backtrace = event->backtrace,
            .thread = event->thread,
            .allocations_low = (uint32_t)allocations,
            .chain = chain,
        };
        return;
    }
    *block = (struct live_block){
        .address = block->address,
        .slack_low = slack & 0xffff,
        .allocation_id = ++pairing->counts.allocations & LIVE_BLOCK_MAX_ID,
        .alignment_log2 = event->alignment_log2 & 63U, /* EV-6 */
        .call = (uint8_t)(event->call | event->chunk_flags),
        .allocations_middle = allocations >> 32 & 0xf,
        .alloc_ns = event->time_ns & ((UINT64_C(1) << 56) - 1),
        .slack_high = slack >> 32 & 0xf,
        .allocations_high = allocations >> 36 & 0xf,
        .size = event->size & ((UINT64_C(1) << 48) - 1),
        .slack_middle = slack >> 16 & 0xffff,
        .backtrace = event->backtrace,
        .thread = event->thread,
        .allocations_low = (uint32_t)allocations,
        .chain = chain,
    };
}

/* PA-9 */
static bool has_no_id_left(const struct pairing *pairing)
{
    return pairing->counts.allocations >= LIVE_BLOCK_MAX_ID;
}

static int give_allocation(struct pairing *pairing, const struct event *event, uint32_t chain,
                           const struct pairing_link *link, struct error *err)
{
    struct live_table *live = &pairing->processes[event->process].live;
    struct live_block *block = live_table_find(live, event->address);
    int code = 0;

    if (mtrace_unlikely(has_no_id_left(pairing)))
        return error_set(err, ERROR_FORMAT, "there are more than 2^46 allocations");
    if (mtrace_unlikely(block != NULL))
        code = end_unseen(pairing, event, block, err);
    if (code == 0)
        code = live_table_add(live, event->address, &block, err);
    if (code)
        return code;
    fill_block(pairing, event, chain, block);
    code = live_table_set_group(live, block, event->group, err);
    if (code)
        return code;
    code = pairing->sink.allocated(pairing->sink.context, event->process, block, event->group, link,
                                   err);
    if (code == 0 && mtrace_unlikely(pairing->ends.n > 0))
        code = end_at_allocation(pairing, event, block, err);
    return code;
}

static int on_free(struct pairing *pairing, const struct event *event, struct error *err)
{
    if (mtrace_unlikely(pairing->unseen.n > 0)) {
        struct pending *item = find_unseen(pairing, event);
        if (item)
            return explain(pairing, event, item, err);
    }
    struct live_block *block =
        live_table_find(&pairing->processes[event->process].live, event->address);
    if (mtrace_likely(block != NULL))
        return free_block(pairing, event, block, err);
    return unknown_end(pairing, event, err);
}

/* ---- realloc ---- */

static int open_new(struct pairing *pairing, const struct event *event, struct open_realloc **ret,
                    struct error *err)
{
    struct open_realloc *open =
        dynamic_array_reserve(pairing->open, &pairing->max_open, pairing->n_open + 1, sizeof *open);

    if (!open)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu open reallocs", pairing->n_open);
    pairing->open = open;
    *ret = &open[pairing->n_open++];
    **ret = (struct open_realloc){.pair = event->pair, .old_address = event->address};
    return 0;
}

static int on_realloc_begin(struct pairing *pairing, const struct event *event, struct error *err)
{
    struct open_realloc *open = NULL;
    struct process *process = &pairing->processes[event->process];
    int code = open_new(pairing, event, &open, err);

    if (code)
        return code;
    if (mtrace_unlikely(pairing->unseen.n > 0)) {
        struct pending *item = find_unseen(pairing, event);
        if (item) { /* its result gets no link; the block stays ended unseen */
            pending_remove(&pairing->unseen, item);
            pairing->counts.clock_inversions++;
            return 0;
        }
    }
    struct live_block *block = live_table_find(&process->live, event->address);
    if (!block)
        return event->address ? unknown_end(pairing, event, err) : 0;
    open->old_id = block->allocation_id;
    open->old_size = block->size;
    open->old_call = block->call;
    if (block->chain == 0) {
        uint32_t chain = 0;
        code = chain_new(pairing, block, &chain, err);
        if (code)
            return code;
        block->chain = chain;
    }
    open->chain = block->chain;
    struct pairing_end end = {
        .time_ns = event->time_ns,
        .intervening = PAIRING_UNKNOWN,
        .thread = event->thread,
        .backtrace = event->backtrace,
        .group = event->group,
        .block_group = live_table_group(&process->live, block),
        .ended_by = PAIRING_REALLOCATED,
    };
    return end_block(pairing, event->process, block, &end, err);
}

static struct open_realloc take_open(struct pairing *pairing, uint64_t pair)
{
    for (size_t i = pairing->n_open; i-- > 0;) {
        if (pairing->open[i].pair == pair) {
            struct open_realloc open = pairing->open[i];
            pairing->open[i] = pairing->open[--pairing->n_open];
            return open;
        }
    }
    return (struct open_realloc){.pair = pair};
}

static int on_realloc_end(struct pairing *pairing, const struct event *event, struct error *err)
{
    struct open_realloc open = take_open(pairing, event->pair);

    if (open.old_id == 0
        && (event->address == 0 || pairing->processes[event->process].traits.is_untraced))
        return 0;
    if (open.old_id == 0)
        return give_allocation(pairing, event, 0, NULL, err);
    struct chain *chain = &pairing->chains[open.chain];
    if (event->address == 0) {
        chain_free(pairing, open.chain);
        return 0;
    }
    bool moved = event->address != open.old_address;
    struct pairing_link link = {
        .chain_id = chain->chain_id,
        .chain_position = ++chain->length,
        .realloc_from_id = open.old_id,
    };
    /* glibc moves pages of a block with a mapping of its own by mremap. */
    if (moved && !(open.old_call & event->chunk_flags & LOG_CHUNK_MMAPPED))
        link.copied_bytes = open.old_size < event->size ? open.old_size : event->size;
    chain->copied_bytes += link.copied_bytes;
    chain->moves += moved;
    return give_allocation(pairing, event, open.chain, &link, err);
}

/* ---- moves between groups ---- */

static int on_move(struct pairing *pairing, const struct event *event, struct error *err)
{
    struct live_table *live = &pairing->processes[event->process].live;
    const struct live_block *block = live_table_find(live, event->address);

    if (!block) {
        pairing->counts.unknown_moves++;
        return 0;
    }
    struct pairing_move move = {
        .time_ns = event->time_ns,
        .from_group = live_table_group(live, block),
        .group = event->group,
    };
    if (move.from_group == move.group)
        return 0;
    int code = live_table_set_group(live, block, event->group, err);
    return code ? code
                : pairing->sink.moved(pairing->sink.context, event->process, block, &move, err);
}

/* ---- from outside ---- */

int pairing_event(struct pairing *pairing, const struct event *event, struct error *err)
{
    MTRACE_ASSERT(event->process <= pairing->n_processes && event->thread <= pairing->n_threads);
    switch (event->kind) {
    case EVENT_ALLOC:
        return give_allocation(pairing, event, 0, NULL, err);
    case EVENT_FREE:
        return on_free(pairing, event, err);
    case EVENT_REALLOC_BEGIN:
        return on_realloc_begin(pairing, event, err);
    case EVENT_REALLOC_END:
        return on_realloc_end(pairing, event, err);
    case EVENT_MOVE:
        return on_move(pairing, event, err);
    case EVENT_ELIDED_ALLOCATIONS:
        pairing->allocations[event->thread].n += event->n_elided;
        return 0;
    case EVENT_NEXT_OWNER:
        pairing->allocations[event->thread].n_before = pairing->allocations[event->thread].n;
        return 0;
    case EVENT_LOST:
        pairing->processes[event->process].traits.has_lost_events = true;
        return 0;
    default:
        return 0;
    }
}

struct live_table *pairing_live(struct pairing *pairing, uint32_t process)
{
    return &pairing->processes[process].live;
}

const struct live_block *pairing_find(struct pairing *pairing, uint32_t process, uint64_t address)
{
    return address ? live_table_find(&pairing->processes[process].live, address) : NULL;
}

const struct live_block *pairing_next_live(const struct pairing *pairing, uint32_t process,
                                           uint32_t *cursor)
{
    return live_table_next(&pairing->processes[process].live, cursor);
}

static int report_live_at_end(struct pairing *pairing, uint32_t process,
                              const struct live_block *block, struct error *err)
{
    const struct process *own = &pairing->processes[process];
    uint32_t chain_backtrace =
        block->chain ? pairing->chains[block->chain].first_backtrace : block->backtrace;
    int code = pairing->sink.left(
        pairing->sink.context, process, block, live_table_group(&own->live, block),
        own->traits.ended_in_exec ? PAIRING_EXEC : PAIRING_LEAKED, chain_backtrace, err);

    return code || !block->chain ? code : chain_end(pairing, process, block, PAIRING_UNKNOWN, err);
}

static int emit_all_left(struct pairing *pairing, uint32_t process, struct error *err)
{
    const struct live_table *live = &pairing->processes[process].live;
    bool has_runs = pairing->sink.live_at_end_batch && !live->groups
                    && !pairing->processes[process].traits.ended_in_exec;
    const struct live_block *places;
    size_t n;
    int code = 0;

    for (size_t i = 0; code == 0 && (places = live_table_piece(live, i, &n)) != NULL; i++) {
        size_t n_others = n;
        if (has_runs)
            code = pairing->sink.live_at_end_batch(pairing->sink.context, process, places, n,
                                                   &n_others, err);
        for (size_t k = 0; code == 0 && n_others && k < n; k++)
            if (places[k].address && !(has_runs && pairing_is_single(&places[k])))
                code = report_live_at_end(pairing, process, &places[k], err);
    }
    return code;
}

void pairing_keep_memory(struct pairing *pairing)
{
    pairing->keeps_memory = true;
}

int pairing_finish(struct pairing *pairing, struct error *err)
{
    int code = expire_ends(pairing, UINT64_MAX, err);
    if (code)
        return code;
    expire_unseen(pairing, UINT64_MAX);
    for (uint32_t process = 1; process <= pairing->n_processes; process++) {
        code = emit_all_left(pairing, process, err);
        if (!pairing->keeps_memory)
            live_table_done(&pairing->processes[process].live);
        if (code)
            return code;
    }
    return 0;
}

const struct pairing_counts *pairing_counts_get(const struct pairing *pairing)
{
    return &pairing->counts;
}

uint64_t pairing_inherited_frees(const struct pairing *pairing, uint32_t process)
{
    return pairing->processes[process].inherited_frees;
}

/* ---- checkpoint ---- */

static void visit_traits(struct process *process, struct checkpoint_io *io)
{
    struct pairing_process *traits = &process->traits;

    checkpoint_io_bool(io, &traits->is_forked);
    checkpoint_io_bool(io, &traits->has_untracked_blocks);
    checkpoint_io_bool(io, &traits->has_lost_events);
    checkpoint_io_bool(io, &traits->is_untraced);
    checkpoint_io_bool(io, &traits->ended_in_exec);
    checkpoint_io_bool(io, &process->showed_unknown_end);
    checkpoint_io_bool(io, &process->showed_unseen_end);
    checkpoint_io_u64(io, &process->inherited_frees);
}

/* Free chains are linked in the order of reuse. */
static void visit_chains(struct pairing *pairing, struct checkpoint_io *io)
{
    size_t n = pairing->n_chains ? (size_t)pairing->n_chains + 1 : 0;

    pairing->chains = checkpoint_io_array(io, pairing->chains, &n, &pairing->max_chains,
                                          CHECKPOINT_MAX, sizeof *pairing->chains);
    pairing->n_chains = n ? (uint32_t)n - 1 : 0;
    checkpoint_io_u32(io, &pairing->free_chain);
}

static void visit_pending(struct pending_list *list, struct checkpoint_io *io)
{
    checkpoint_io_count(io, &list->n, PENDING_MAX);
    for (size_t i = 0; i < list->n && checkpoint_io_code(io) == 0; i++)
        CHECKPOINT_IMAGE(io, &list->items[i]);
    if (checkpoint_io_code(io))
        list->n = 0;
}

static void visit_open(struct pairing *pairing, struct checkpoint_io *io)
{
    pairing->open = checkpoint_io_array(io, pairing->open, &pairing->n_open, &pairing->max_open,
                                        CHECKPOINT_MAX, sizeof *pairing->open);
}

void pairing_visit(struct pairing *pairing, struct checkpoint_io *io)
{
    size_t n_processes = pairing->n_processes;
    size_t n_threads = pairing->n_threads;

    CHECKPOINT_IMAGE(io, &pairing->counts);
    visit_chains(pairing, io);
    visit_open(pairing, io);
    visit_pending(&pairing->ends, io);
    visit_pending(&pairing->unseen, io);
    checkpoint_io_count(io, &n_threads, pairing->n_threads);
    for (size_t i = 1; i <= n_threads; i++) {
        checkpoint_io_u64(io, &pairing->allocations[i].n);
        checkpoint_io_u64(io, &pairing->allocations[i].n_before);
    }
    checkpoint_io_count(io, &n_processes, pairing->n_processes);
    for (uint32_t i = 1; i <= n_processes && checkpoint_io_code(io) == 0; i++) {
        visit_traits(&pairing->processes[i], io);
        live_table_visit(&pairing->processes[i].live, io);
    }
}
