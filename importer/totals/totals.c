/* SPDX-License-Identifier: MIT */
#include "importer/totals/totals.h"

#include "lib/abi/attr.h"
#include "lib/abi/invariant.h"
#include "lib/base/dynamic_array.h"
#include "lib/totals/report_classes.h"

#include <stdlib.h>
#include <string.h>

int totals_new(uint32_t n_processes, uint32_t n_threads, uint32_t n_backtraces, struct totals **ret,
               struct error *err)
{
    struct totals *totals = calloc(1, sizeof *totals);

    if (totals) {
        totals->processes = calloc((size_t)n_processes + 1, sizeof *totals->processes);
        totals->threads = calloc((size_t)n_threads + 1, sizeof *totals->threads);
    }
    if (!totals || !totals->processes || !totals->threads) {
        totals_free(totals);
        return error_set(err, ERROR_NOMEM, "out of memory for totals of %u processes", n_processes);
    }
    totals->n_processes = n_processes;
    totals->n_threads = n_threads;
    totals->n_backtraces = n_backtraces;
    for (uint32_t i = 0; i <= n_processes; i++) {
        totals->processes[i].now_ns = TOTALS_NEVER;
        totals->processes[i].peak_ns = TOTALS_NEVER;
    }
    *ret = totals;
    return 0;
}

static void process_done(struct process_totals *process, uint32_t n_backtraces)
{
    for (uint32_t i = 0; process->pages && i <= n_backtraces / TOTALS_BACKTRACES_PER_PAGE; i++)
        free(process->pages[i]);
    for (uint32_t i = 0; process->sample_bytes && i < process->n_stacks; i++)
        free(totals_stack(process, i)->variances);
    for (uint32_t i = 0; i < process->n_pieces; i++)
        free(process->pieces[i]);
    free(process->pages);
    free(process->pieces);
    free(process->changed);
    free(process->left);
    allocation_parts_done(&process->allocations);
    free(process->sizes);
    free(process->lifetimes);
}

void totals_free(struct totals *totals)
{
    if (!totals)
        return;
    for (uint32_t i = 0; totals->processes && i <= totals->n_processes; i++)
        process_done(&totals->processes[i], totals->n_backtraces);
    free(totals->processes);
    free(totals->threads);
    hash_map_done(&totals->free_sites);
    hash_map_done(&totals->flows);
    hash_map_done(&totals->leaked_allocations);
    free(totals);
}

/* ---- finding the stack ---- */

static MTRACE_COLD int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory for totals of stacks");
}

static int process_begin(struct totals *totals, struct process_totals *process, struct error *err)
{
    process->pages = calloc((size_t)totals->n_backtraces / TOTALS_BACKTRACES_PER_PAGE + 1,
                            sizeof *process->pages);
    process->lifetimes = calloc(LIFETIME_CLASSES, sizeof *process->lifetimes);
    return process->pages && process->lifetimes ? 0 : out_of_memory(err);
}

static int add_piece(struct process_totals *process, struct error *err)
{
    struct stack_totals **pieces = dynamic_array_reserve(process->pieces, &process->max_pieces,
                                                         process->n_pieces + 1, sizeof *pieces);

    if (!pieces)
        return out_of_memory(err);
    process->pieces = pieces;
    pieces[process->n_pieces] = calloc(TOTALS_STACKS_PER_PIECE, sizeof **pieces);
    if (!pieces[process->n_pieces])
        return out_of_memory(err);
    process->n_pieces++;
    return 0;
}

struct stack_totals *totals_stack(const struct process_totals *process, uint32_t number)
{
    return &process->pieces[number / TOTALS_STACKS_PER_PIECE][number % TOTALS_STACKS_PER_PIECE];
}

static MTRACE_COLD int stack_new(struct totals *totals, struct process_totals *process,
                                 uint32_t backtrace, struct stack_totals **ret, struct error *err)
{
    int code = process->pages ? 0 : process_begin(totals, process, err);
    if (code)
        return code;
    uint32_t **page = &process->pages[backtrace / TOTALS_BACKTRACES_PER_PAGE];
    if (!*page)
        *page = calloc(TOTALS_BACKTRACES_PER_PAGE, sizeof **page);
    if (!*page)
        return out_of_memory(err);
    if (process->n_stacks == process->n_pieces * TOTALS_STACKS_PER_PIECE) {
        code = add_piece(process, err);
        if (code)
            return code;
    }
    struct stack_totals **changed = dynamic_array_reserve(process->changed, &process->max_changed,
                                                          process->n_stacks + 1, sizeof *changed);
    if (!changed)
        return out_of_memory(err);
    process->changed = changed;
    struct stack_totals *stack = totals_stack(process, process->n_stacks++);
    (*page)[backtrace % TOTALS_BACKTRACES_PER_PAGE] = process->n_stacks;
    stack->backtrace = backtrace;
    stack->first_ns = TOTALS_NEVER;
    stack->min_size = UINT64_MAX;
    stack->leaked_first_ns = TOTALS_NEVER;
    stack->leaked_last_ns = TOTALS_NEVER;
    if (process->sample_bytes) {
        stack->variances = calloc(1, sizeof *stack->variances);
        if (!stack->variances)
            return out_of_memory(err);
    }
    *ret = stack;
    return 0;
}

uint32_t totals_stack_number(const struct process_totals *process, uint32_t backtrace)
{
    return process->pages[backtrace / TOTALS_BACKTRACES_PER_PAGE]
                         [backtrace % TOTALS_BACKTRACES_PER_PAGE]
           - 1;
}

static int stack_get(struct totals *totals, struct process_totals *process, uint32_t backtrace,
                     struct stack_totals **ret, struct error *err)
{
    MTRACE_ASSERT(backtrace <= totals->n_backtraces);
    *ret = totals_stack_find(process, backtrace);
    return *ret ? 0 : stack_new(totals, process, backtrace, ret, err);
}

/* ---- peaks ---- */

static inline void compare_with_peak(struct process_totals *process)
{
    if (process->live_bytes > process->peak_bytes) {
        process->peak_bytes = process->live_bytes;
        process->peak_blocks = process->live_blocks;
        process->peak_variance = process->live_variance;
        process->peak_ns = process->now_ns;
        process->peak_epoch = process->now_ns + 1;
    }
}

/* Updates the peaks of the stack. Call before its live sums change. */
static inline void settle(struct process_totals *process, struct stack_totals *stack,
                          uint64_t now_ns)
{
    if (stack->changed_epoch == now_ns + 1)
        return;
    if (process->peak_epoch >= stack->changed_epoch) {
        stack->peak_bytes = stack->live_bytes;
        stack->peak_blocks = stack->live_blocks;
        if (mtrace_unlikely(stack->variances != NULL))
            stack->variances->peak = stack->variances->live;
    }
    if (stack->live_bytes > stack->own_peak_bytes) {
        stack->own_peak_bytes = stack->live_bytes;
        stack->own_peak_ns = stack->changed_epoch - 1;
    }
    if (stack->changed_epoch <= process->reported_epoch && process->n_changed < process->n_stacks)
        process->changed[process->n_changed++] = stack;
    stack->changed_epoch = now_ns + 1;
}

static inline void settle_thread(struct thread_totals *thread, uint64_t now_ns)
{
    if (thread->changed_ns == now_ns)
        return;
    if (thread->live_bytes > thread->peak_bytes)
        thread->peak_bytes = thread->live_bytes;
    thread->changed_ns = now_ns;
}

bool totals_advance(struct totals *totals, uint32_t process_id, uint64_t time_ns)
{
    struct process_totals *process = &totals->processes[process_id];

    if (process->now_ns == time_ns)
        return false;
    if (process->now_ns != TOTALS_NEVER)
        compare_with_peak(process);
    process->now_ns = time_ns;
    return true;
}

void totals_list_changed(struct process_totals *process, uint64_t reported_epoch)
{
    process->reported_epoch = reported_epoch;
    process->n_changed = 0;
    for (uint32_t i = 0; i < process->n_stacks; i++) {
        struct stack_totals *stack = totals_stack(process, i);
        if (stack->changed_epoch > reported_epoch)
            process->changed[process->n_changed++] = stack;
    }
}

void totals_finish(struct totals *totals)
{
    for (uint32_t id = 1; id <= totals->n_processes; id++) {
        struct process_totals *process = &totals->processes[id];
        totals_advance(totals, id, TOTALS_NEVER - 1);
        for (uint32_t i = 0; i < process->n_stacks; i++)
            settle(process, totals_stack(process, i), TOTALS_NEVER - 1);
    }
    for (uint32_t id = 1; id <= totals->n_threads; id++)
        settle_thread(&totals->threads[id], TOTALS_NEVER - 1);
}

static void take_left(struct stack_totals *stack, const struct stack_left *left)
{
    stack->chains_leaked += left->chains;
    if (left->blocks == 0)
        return;
    stack->leaked_blocks += left->blocks;
    stack->leaked_bytes += left->bytes;
    stack->leaked_first_ns = left->first_ns;
    stack->leaked_last_ns = left->last_ns;
}

static void take_all_left(struct process_totals *process)
{
    for (uint32_t i = 0; process->left && i < process->n_stacks; i++)
        take_left(totals_stack(process, i), &process->left[i]);
    free(process->left);
    process->left = NULL;
}

/* ---- pairs ---- */

void totals_bound(struct totals *totals, size_t max_pairs)
{
    totals->max_pairs = (uint32_t)max_pairs;
}

/* Adds a run to its entry, or to the one of id 0 if there are too many (TO-6). */
static int flush_pair(const struct totals *totals, struct hash_map *tally,
                      struct pair_totals_run *run, uint32_t from, uint32_t *n_pairs,
                      uint64_t *n_unreported, struct error *err)
{
    size_t n = tally->n;

    if (totals->max_pairs && *n_pairs >= totals->max_pairs && run->blocks
        && !pair_totals_find(tally, run->process, from, run->to)) {
        *n_unreported += run->blocks;
        run->to = 0;
    }
    bool is_reported = run->to != 0;
    int code = pair_totals_flush(tally, run, from, err);
    *n_pairs += is_reported && tally->n > n;
    return code;
}

static int flush_free_site(struct totals *totals, struct stack_totals *stack, struct error *err)
{
    return flush_pair(totals, &totals->free_sites, &stack->freed_at, stack->backtrace,
                      &stack->n_free_sites, &totals->n_unreported_free_sites, err);
}

static int flush_flow(struct totals *totals, uint32_t id, struct error *err)
{
    struct thread_totals *thread = &totals->threads[id];

    return flush_pair(totals, &totals->flows, &thread->freed_by, id, &thread->n_flows,
                      &totals->n_unreported_flows, err);
}

static int count_free_site(struct totals *totals, uint32_t process, struct stack_totals *stack,
                           uint32_t backtrace, const struct sample_weight *weight,
                           struct error *err)
{
    int code = pair_totals_continues(&stack->freed_at, process, backtrace)
                   ? 0
                   : flush_free_site(totals, stack, err);

    pair_totals_run_add(&stack->freed_at, process, backtrace, weight);
    return code;
}

static int count_flow(struct totals *totals, uint32_t process, uint32_t from, uint32_t to,
                      const struct sample_weight *weight, struct error *err)
{
    struct pair_totals_run *run = &totals->threads[from].freed_by;
    int code = pair_totals_continues(run, process, to) ? 0 : flush_flow(totals, from, err);

    pair_totals_run_add(run, process, to, weight);
    return code;
}

static int flush_leaked_allocations(struct totals *totals, struct process_totals *process,
                                    struct error *err)
{
    uint32_t id = (uint32_t)(process - totals->processes);
    int code = 0;

    for (uint32_t i = 0; code == 0 && i < process->n_stacks; i++)
        code =
            allocation_parts_emit(&process->allocations, i, id, totals_stack(process, i)->backtrace,
                                  &totals->leaked_allocations, err);
    allocation_parts_done(&process->allocations);
    return code;
}

int totals_flush(struct totals *totals, struct error *err)
{
    int code = 0;

    for (uint32_t id = 1; id <= totals->n_processes; id++) {
        struct process_totals *process = &totals->processes[id];
        take_all_left(process);
        if (code == 0)
            code = flush_leaked_allocations(totals, process, err);
        for (uint32_t i = 0; code == 0 && i < process->n_stacks; i++)
            code = flush_free_site(totals, totals_stack(process, i), err);
    }
    for (uint32_t id = 1; code == 0 && id <= totals->n_threads; id++)
        code = flush_flow(totals, id, err);
    return code;
}

/* ---- allocations and frees ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static MTRACE_COLD int reserve_size(struct process_totals *process, unsigned class,
                                    struct error *err)
{
    size_t n_sizes = process->n_sizes;
    struct size_class_totals *sizes =
        dynamic_array_reserve(process->sizes, &n_sizes, class + 1, sizeof *sizes);

    if (!sizes)
        return out_of_memory(err);
    process->sizes = sizes;
    process->n_sizes = n_sizes;
    return 0;
}

static int get_class(struct process_totals *process, unsigned number,
                     struct size_class_totals **ret, struct error *err)
{
    int code = mtrace_unlikely(number >= process->n_sizes) ? reserve_size(process, number, err) : 0;

    *ret = code ? NULL : &process->sizes[number];
    return code;
}

static int get_size_class(struct process_totals *process, uint64_t size_bytes,
                          struct size_class_totals **ret, struct error *err)
{
    return get_class(process, size_class_of(size_bytes), ret, err);
}

static int count_allocation(struct process_totals *process, struct thread_totals *thread,
                            const struct totals_block *block, struct error *err)
{
    const struct sample_weight *weight = &block->weight;
    struct size_class_totals *class;
    int code = get_size_class(process, block->size, &class, err);

    if (code)
        return code;
    process->n_allocations += weight->blocks;
    process->live_bytes += weight->bytes;
    process->live_blocks += weight->blocks;
    settle_thread(thread, block->allocated_ns);
    thread->live_bytes += weight->bytes;
    thread->allocated_bytes += weight->bytes;
    thread->allocated_blocks += weight->blocks;
    class->allocated_blocks += weight->blocks;
    class->allocated_bytes += weight->bytes;
    class->slack_bytes += block->slack * weight->blocks;
    return 0;
}

static void add_variance(struct sums_variance *sum, const struct sample_weight *weight)
{
    sum->blocks += weight->blocks_variance;
    sum->bytes += weight->bytes_variance;
}

static void subtract_variance(struct sums_variance *sum, const struct sample_weight *weight)
{
    sum->blocks -= weight->blocks_variance;
    sum->bytes -= weight->bytes_variance;
}

static MTRACE_COLD void vary_allocation(struct process_totals *process, struct stack_totals *stack,
                                        const struct sample_weight *weight)
{
    add_variance(&process->live_variance, weight);
    add_variance(&stack->variances->allocated, weight);
    add_variance(&stack->variances->live, weight);
}

static MTRACE_COLD void vary_end(struct process_totals *process, struct stack_totals *stack,
                                 const struct sample_weight *weight)
{
    subtract_variance(&process->live_variance, weight);
    subtract_variance(&stack->variances->live, weight);
}

int totals_allocated(struct totals *totals, uint32_t process_id, const struct totals_block *block,
                     const struct pairing_link *link, struct error *err)
{
    struct process_totals *process = &totals->processes[process_id];
    const struct sample_weight *weight = &block->weight;
    struct stack_totals *stack;
    int code = stack_get(totals, process, block->backtrace, &stack, err);

    if (code)
        return code;
    settle(process, stack, block->allocated_ns);
    stack->live_bytes += weight->bytes;
    stack->live_blocks += weight->blocks;
    stack->allocated_bytes += weight->bytes;
    stack->allocated_blocks += weight->blocks;
    stack->slack_bytes += block->slack * weight->blocks;
    if (mtrace_unlikely(stack->variances != NULL))
        vary_allocation(process, stack, weight);
    if (stack->first_ns == TOTALS_NEVER)
        stack->first_ns = block->allocated_ns;
    stack->last_ns = block->allocated_ns;
    if (block->size < stack->min_size)
        stack->min_size = block->size;
    if (block->size > stack->max_size)
        stack->max_size = block->size;
    if (link) {
        stack->realloc_count++;
        stack->realloc_copied_bytes += link->copied_bytes;
    } else {
        stack->chains_started++;
    }
    return count_allocation(process, &totals->threads[block->thread], block, err);
}

static int tally_end(struct totals *totals, uint32_t process, struct stack_totals *stack,
                     const struct totals_block *block, const struct pairing_end *end,
                     struct error *err)
{
    const struct sample_weight *weight = &block->weight;
    int code = 0;

    if (end->thread) {
        struct thread_totals *ender = &totals->threads[end->thread];
        ender->freed_blocks += weight->blocks;
        ender->freed_bytes += weight->bytes;
        code = count_flow(totals, process, block->thread, end->thread, weight, err);
    }
    if (code == 0 && end->backtrace && end->ended_by == PAIRING_FREED)
        code = count_free_site(totals, process, stack, end->backtrace, weight, err);
    return code;
}

int totals_ended(struct totals *totals, uint32_t process_id, const struct totals_block *block,
                 const struct pairing_end *end, struct error *err)
{
    struct process_totals *process = &totals->processes[process_id];
    struct thread_totals *thread = &totals->threads[block->thread];
    struct stack_totals *stack = totals_stack_find(process, block->backtrace);
    uint64_t lifetime = end->time_ns - block->allocated_ns;
    struct lifetime_class_totals *class = &process->lifetimes[lifetime_class_of(lifetime)];
    const struct sample_weight *weight = &block->weight;

    settle(process, stack, end->time_ns);
    stack->live_bytes -= weight->bytes;
    stack->live_blocks -= weight->blocks;
    stack->lifetime_sum_ns += (double)lifetime * (double)weight->blocks;
    if (mtrace_unlikely(stack->variances != NULL)) {
        vary_end(process, stack, weight);
    } else if (end->intervening <= 1) {
        stack->temporary_blocks++;
        stack->temporary_bytes += block->size;
        process->sizes[size_class_of(block->size)].temporary_blocks++;
    }
    process->n_ends += weight->blocks;
    process->live_bytes -= weight->bytes;
    process->live_blocks -= weight->blocks;
    settle_thread(thread, end->time_ns);
    thread->live_bytes -= weight->bytes;
    class->blocks += weight->blocks;
    class->bytes += weight->bytes;
    return tally_end(totals, process_id, stack, block, end, err);
}

int totals_explained(struct totals *totals, uint32_t process, const struct totals_block *block,
                     const struct pairing_end *end, struct error *err)
{
    return tally_end(totals, process,
                     totals_stack_find(&totals->processes[process], block->backtrace), block, end,
                     err);
}

static MTRACE_COLD int begin_left(struct process_totals *process, struct error *err)
{
    process->left = calloc((size_t)process->n_stacks + 1, sizeof *process->left);
    return process->left ? 0 : out_of_memory(err);
}

/* Inlined: it runs for each leaked block. */
MTRACE_INLINE void count_left(struct totals *totals, struct process_totals *process,
                              uint32_t number, const struct live_block *block,
                              const struct sample_weight *weight)
{
    struct stack_left *left = &process->left[number];
    struct thread_totals *thread = &totals->threads[block->thread];
    struct size_class_totals *class = &process->sizes[size_class_of(block->size)];

    if (left->blocks == 0 || block->alloc_ns < left->first_ns)
        left->first_ns = block->alloc_ns;
    if (block->alloc_ns > left->last_ns)
        left->last_ns = block->alloc_ns;
    left->blocks += weight->blocks;
    left->bytes += weight->bytes;
    thread->leaked_blocks += weight->blocks;
    thread->leaked_bytes += weight->bytes;
    class->leaked_blocks += weight->blocks;
    class->leaked_bytes += weight->bytes;
}

int totals_live_at_end(struct totals *totals, uint32_t process_id, const struct live_block *block,
                       enum pairing_ended_by ended_by, uint32_t chain_backtrace, struct error *err)
{
    struct process_totals *process = &totals->processes[process_id];
    const struct sample_weight weight = totals_weight(totals, process_id, block);
    uint32_t number = totals_stack_number(process, block->backtrace);

    if (ended_by != PAIRING_LEAKED)
        return 0;
    if (mtrace_unlikely(!totals_stack_find(process, chain_backtrace)))
        return error_set(err, ERROR_FORMAT, "the checkpoint of the recording is damaged (a chain)");
    int code = mtrace_unlikely(!process->left) ? begin_left(process, err) : 0;
    if (code)
        return code;
    count_left(totals, process, number, block, &weight);
    if (mtrace_unlikely(process->sample_bytes))
        add_variance(&totals_stack(process, number)->variances->leaked, &weight);
    process
        ->left[chain_backtrace == block->backtrace ? number
                                                   : totals_stack_number(process, chain_backtrace)]
        .chains++;
    return 0;
}

int totals_live_at_end_batch(struct totals *totals, uint32_t process_id,
                             const struct live_block *places, size_t n_places, size_t *ret_n_others,
                             struct error *err)
{
    struct process_totals *process = &totals->processes[process_id];
    int code = mtrace_unlikely(!process->left) ? begin_left(process, err) : 0;

    *ret_n_others = 0;
    for (size_t i = 0; code == 0 && i < n_places; i++) {
        const struct live_block *block = &places[i];
        const struct sample_weight weight = {.blocks = 1, .bytes = block->size};
        __builtin_prefetch(
            block + LIVE_TABLE_PIECE_BLOCKS); /* one per iteration spreads the load on memory */
        if (!pairing_is_single(block)) {
            *ret_n_others += block->address != 0;
            continue;
        }
        uint32_t number = totals_stack_number(process, block->backtrace);
        count_left(totals, process, number, block, &weight);
        process->left[number].chains++;
    }
    return code;
}

int totals_leaked_allocation(struct totals *totals, uint32_t process_id, uint32_t backtrace,
                             uint32_t part, const struct sample_weight *weight, struct error *err)
{
    struct process_totals *process = &totals->processes[process_id];

    return allocation_parts_add(&process->allocations, process->n_stacks,
                                totals_stack_number(process, backtrace), part, weight, err);
}

/* All of them are of one size class and one lifetime class, and so are the means. */
static int count_elided(struct totals *totals, struct process_totals *process,
                        const struct event *event, struct error *err)
{
    unsigned lifetime = lifetime_class_of(event->lifetime_ns / event->n_elided);
    struct size_class_totals *class;
    int code = process->lifetimes ? 0 : process_begin(totals, process, err);

    if (code == 0)
        code = get_class(process, size_class_of(event->size / event->n_elided), &class, err);
    if (code)
        return code;
    process->n_allocations += event->n_elided;
    process->n_ends += event->n_elided;
    process->lifetimes[lifetime].blocks += event->n_elided;
    process->lifetimes[lifetime].bytes += event->size;
    class->allocated_blocks += event->n_elided;
    class->allocated_bytes += event->size;
    class->slack_bytes += event->slack_bytes;
    class->temporary_blocks += event->result ? event->n_elided : 0;
    return 0;
}

/* The mean stands for the least and the largest size, which are of one class. */
static void count_elided_stack(struct stack_totals *stack, const struct event *event)
{
    uint64_t size = event->size / event->n_elided;

    stack->elided_blocks += event->n_elided;
    stack->elided_bytes += event->size;
    stack->chains_started += event->n_elided;
    stack->slack_bytes += event->slack_bytes;
    stack->lifetime_sum_ns += (double)event->lifetime_ns;
    stack->temporary_blocks += event->result ? event->n_elided : 0;
    stack->temporary_bytes += event->result ? event->size : 0;
    stack->first_ns = least(stack->first_ns, event->time_ns);
    if (stack->last_ns < event->time_ns)
        stack->last_ns = event->time_ns;
    if (stack->own_peak_bytes < size) {
        stack->own_peak_bytes = size;
        stack->own_peak_ns = event->time_ns;
    }
    stack->min_size = least(stack->min_size, size);
    if (stack->max_size < size)
        stack->max_size = size;
}

int totals_elided(struct totals *totals, const struct event *event, uint32_t free_backtrace,
                  struct error *err)
{
    const struct sample_weight weight = {.blocks = event->n_elided, .bytes = event->size};
    struct process_totals *process = &totals->processes[event->process];
    struct thread_totals *thread = &totals->threads[event->thread];
    struct stack_totals *stack;

    if (event->kind == EVENT_ELIDED_ALLOCATIONS) {
        if (event->size > thread->elided_live_bytes)
            thread->elided_live_bytes = event->size;
        return 0;
    }
    int code = stack_get(totals, process, event->backtrace, &stack, err);

    if (code == 0)
        code = count_elided(totals, process, event, err);
    if (code)
        return code;
    count_elided_stack(stack, event);
    thread->allocated_blocks += event->n_elided;
    thread->allocated_bytes += event->size;
    thread->freed_blocks += event->n_elided;
    thread->freed_bytes += event->size;
    code = count_flow(totals, event->process, event->thread, event->thread, &weight, err);
    return code || free_backtrace == 0
               ? code
               : count_free_site(totals, event->process, stack, free_backtrace, &weight, err);
}

uint64_t totals_elided_live_bytes(const struct totals *totals)
{
    uint64_t bytes = 0;

    for (uint32_t id = 1; id <= totals->n_threads; id++)
        bytes += totals->threads[id].elided_live_bytes;
    return bytes;
}

uint64_t totals_n_elided(const struct totals *totals)
{
    uint64_t n = 0;

    for (uint32_t id = 1; id <= totals->n_processes; id++)
        for (uint32_t i = 0; i < totals->processes[id].n_stacks; i++)
            n += totals_stack(&totals->processes[id], i)->elided_blocks;
    return n;
}

/* ---- checkpoint ---- */

static void visit_variances(struct stack_totals *stack, struct checkpoint_io *io)
{
    CHECKPOINT_IMAGE(io, stack->variances);
}

static void save_stacks(struct process_totals *process, struct checkpoint_io *io)
{
    for (uint32_t i = 0; i < process->n_stacks; i++) {
        struct stack_totals *stack = totals_stack(process, i);
        CHECKPOINT_IMAGE(io, stack);
        if (stack->variances)
            visit_variances(stack, io);
    }
}

static void load_stack(struct totals *totals, struct process_totals *process,
                       struct checkpoint_io *io)
{
    struct stack_totals copy;
    struct stack_totals *stack;

    CHECKPOINT_IMAGE(io, &copy);
    if (checkpoint_io_code(io))
        return;
    if (stack_new(totals, process, copy.backtrace, &stack, NULL) != 0) {
        checkpoint_io_no_memory(io);
        return;
    }
    copy.variances = stack->variances;
    *stack = copy;
    if (stack->variances)
        visit_variances(stack, io);
}

static void visit_stacks(struct totals *totals, struct process_totals *process,
                         struct checkpoint_io *io)
{
    size_t n = process->n_stacks;

    checkpoint_io_count(io, &n, totals->n_backtraces);
    if (!checkpoint_io_is_loading(io)) {
        save_stacks(process, io);
        return;
    }
    for (size_t i = 0; i < n && checkpoint_io_code(io) == 0; i++)
        load_stack(totals, process, io);
}

static void visit_process(struct totals *totals, struct process_totals *process,
                          struct checkpoint_io *io)
{
    size_t max_sizes = process->n_sizes;
    size_t n_sizes = process->n_sizes;
    bool has_begun = process->lifetimes != NULL;

    checkpoint_io_u64(io, &process->sample_bytes);
    checkpoint_io_u64(io, &process->now_ns);
    checkpoint_io_u64(io, &process->live_bytes);
    checkpoint_io_u64(io, &process->live_blocks);
    checkpoint_io_u64(io, &process->peak_bytes);
    checkpoint_io_u64(io, &process->peak_blocks);
    checkpoint_io_u64(io, &process->peak_ns);
    checkpoint_io_u64(io, &process->peak_epoch);
    CHECKPOINT_IMAGE(io, &process->live_variance);
    CHECKPOINT_IMAGE(io, &process->peak_variance);
    checkpoint_io_u64(io, &process->n_allocations);
    checkpoint_io_u64(io, &process->n_ends);
    process->sizes = checkpoint_io_array(io, process->sizes, &n_sizes, &max_sizes, 4 * SIZE_CLASSES,
                                         sizeof *process->sizes);
    process->n_sizes = n_sizes;
    checkpoint_io_bool(io, &has_begun);
    if (has_begun && !process->lifetimes && process_begin(totals, process, NULL) != 0)
        checkpoint_io_no_memory(io);
    if (has_begun && process->lifetimes)
        checkpoint_io_bytes(io, process->lifetimes, LIFETIME_CLASSES * sizeof *process->lifetimes);
    visit_stacks(totals, process, io);
}

static void visit_threads(struct totals *totals, struct checkpoint_io *io)
{
    size_t n = totals->n_threads;

    checkpoint_io_count(io, &n, totals->n_threads);
    for (size_t i = 1; i <= n; i++)
        CHECKPOINT_IMAGE(io, &totals->threads[i]);
}

void totals_visit(struct totals *totals, struct checkpoint_io *io)
{
    size_t n = totals->n_processes;

    visit_threads(totals, io);
    checkpoint_io_count(io, &n, totals->n_processes);
    for (size_t i = 1; i <= n && checkpoint_io_code(io) == 0; i++)
        visit_process(totals, &totals->processes[i], io);
    checkpoint_io_pairs(io, &totals->free_sites);
    checkpoint_io_pairs(io, &totals->flows);
    checkpoint_io_u64(io, &totals->n_unreported_free_sites);
    checkpoint_io_u64(io, &totals->n_unreported_flows);
}
