/* SPDX-License-Identifier: MIT */
/* Runs of events are counted as single events are: random programs, in both ways, and every sum
 * compared. */
#include "importer/totals/statistics.h"
#include "importer/totals/statistics_run.h"
#include "lib/totals/report_classes.h"
#include "tests/lib/unit.h"

#include <string.h>

enum {
    N_PROCESSES = 2,
    N_THREADS = 4,   /* the first three are of the first process */
    FIRST_STACK = 3, /* DF-4 */
    N_STACKS = 12,
    N_ADDRESSES = 200,
    N_EVENTS = 40000,
    N_SEEDS = 6,
};

struct program {
    struct definitions definitions;
    struct definitions_process processes[N_PROCESSES + 1];
    struct definitions_thread threads[N_THREADS + 1];
    struct definitions_frame frames[N_STACKS + 1];
    struct definitions_backtrace backtraces[N_STACKS + 1];
    struct event events[N_EVENTS];
};

/* What snapshots say, one after the other. */
struct reported {
    uint64_t n, sum;
};

static int on_event(void *context, const struct event *event, struct error *err)
{
    (void)context;
    (void)event;
    (void)err;
    return 0;
}

static int on_mapping(void *context, const struct mapping *mapping, struct error *err)
{
    (void)context;
    (void)mapping;
    (void)err;
    return 0;
}

static int on_memory(void *context, const struct memory_sample *sample, struct error *err)
{
    (void)context;
    (void)sample;
    (void)err;
    return 0;
}

static int on_snapshot(void *context, const struct snapshot *snapshot, struct error *err)
{
    struct reported *reported = context;

    (void)err;
    for (size_t i = 0; i < snapshot->n_stacks; i++)
        reported->sum =
            reported->sum * 31 + snapshot->stacks[i].backtrace + snapshot->stacks[i].live_bytes;
    reported->sum = reported->sum * 31 + snapshot->at_ns;
    reported->n++;
    return 0;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 33;
}

/* Allocations and frees of mostly live blocks, of one thread for a while; between them a block of
 * another thread, of none that is live, or neither. */
static void make_events(struct program *program, uint64_t seed)
{
    uint64_t time_ns = 0;
    uint32_t thread = 1;

    for (size_t i = 0; i < N_EVENTS; i++) {
        struct event *event = &program->events[i];
        uint64_t what = next_random(&seed) % 1000;
        if (what < 20)
            thread = 1 + (uint32_t)(next_random(&seed) % N_THREADS);
        time_ns += next_random(&seed) % 4 ? next_random(&seed) % 300 : 0;
        *event = (struct event){.kind = next_random(&seed) % 2 ? EVENT_ALLOC : EVENT_FREE,
                                .time_ns = time_ns,
                                .address = 0x10000 + 40960 * (next_random(&seed) % N_ADDRESSES),
                                .process = program->threads[thread].process,
                                .thread = thread};
        event->backtrace = FIRST_STACK + (uint32_t)(next_random(&seed) % (N_STACKS - FIRST_STACK));
        if (event->kind == EVENT_ALLOC) {
            event->size = next_random(&seed) % (what < 100 ? 400000 : 300);
            event->usable = event->size + next_random(&seed) % (what < 50 ? 200000 : 20);
            event->call = (uint8_t)(next_random(&seed) % 3);
            event->chunk_flags = what % 5 ? LOG_CHUNK_KNOWN : 0;
            if (what % 55 == 1)
                event->chunk_flags |= LOG_CHUNK_NON_MAIN;
        } else if (what % 7 == 0) {
            event->backtrace = DEFINITIONS_NO_BACKTRACE;
        }
        if (what >= 998)
            event->kind = what == 999 ? EVENT_ELIDED_ALLOCATIONS : EVENT_NEXT_OWNER;
    }
    for (uint32_t id = 1; id <= N_PROCESSES; id++)
        program->processes[id].last_ns = time_ns;
}

static struct program *make_program(uint64_t seed)
{
    struct program *program = calloc(1, sizeof *program);

    assert_non_null(program);
    for (uint32_t id = 1; id <= N_PROCESSES; id++)
        program->processes[id] =
            (struct definitions_process){.pid = 100 + id, .end_kind = "exit", .page_bytes = 4096};
    for (uint32_t id = 1; id <= N_THREADS; id++)
        program->threads[id] =
            (struct definitions_thread){.process = 1 + (id == N_THREADS), .tid = 200 + id};
    for (uint32_t id = 1; id <= N_STACKS; id++)
        program->backtraces[id] =
            (struct definitions_backtrace){.last_descendant = id, .frame = id, .depth = 1};
    program->definitions = (struct definitions){.processes = program->processes,
                                                .threads = program->threads,
                                                .frames = program->frames,
                                                .backtraces = program->backtraces,
                                                .n_processes = N_PROCESSES,
                                                .n_threads = N_THREADS,
                                                .n_frames = N_STACKS,
                                                .n_backtraces = N_STACKS};
    make_events(program, seed);
    return program;
}

/* Returns how many events runs took. */
static size_t feed(struct statistics *statistics, const struct program *program, bool has_runs)
{
    size_t n_taken = 0;

    for (size_t i = 0; i < N_EVENTS; i++) {
        size_t n = 0;
        if (has_runs)
            assert_int_equal(statistics_run_take(statistics, &program->events[i], N_EVENTS - i,
                                                 program->events[i].time_ns + 5000, &n, NULL),
                             0);
        n_taken += n;
        i += n;
        if (i == N_EVENTS)
            break;
        assert_int_equal(statistics_event(statistics, &program->events[i], NULL), 0);
        if (has_runs)
            statistics_prefetch(statistics, &program->events[i], N_EVENTS - i);
    }
    return n_taken;
}

/* Extents and facts of heaps, as a checkpoint has them. Other parts have padding, or are compared
 * field by field. */
struct saved {
    uint8_t bytes[1 << 20];
    size_t n;
};

static int put(void *context, const void *chunk, size_t n_bytes, struct error *err)
{
    const struct checkpoint_io_chunk *head = chunk;
    struct saved *saved = context;

    (void)err;
    if (head->part != CHECKPOINT_HEAPS && head->part != CHECKPOINT_SAMPLES)
        return 0;
    assert_true(saved->n + n_bytes <= sizeof saved->bytes);
    memcpy(saved->bytes + saved->n, chunk, n_bytes);
    saved->n += n_bytes;
    return 0;
}

static void save(struct statistics *statistics, struct saved *ret)
{
    const struct checkpoint_io_sink sink = {.put = put, .context = ret};
    struct checkpoint_io *io;

    ret->n = 0;
    assert_int_equal(checkpoint_io_save(&sink, &io, NULL), 0);
    statistics_visit(statistics, io);
    assert_int_equal(checkpoint_io_end(io), 0);
    checkpoint_io_close(io);
}

static struct statistics *count(const struct program *program, bool has_runs,
                                struct reported *reported, struct saved *ret_saved,
                                size_t *ret_n_taken)
{
    const struct row_sink sink = {.context = reported,
                                  .event = on_event,
                                  .mapping = on_mapping,
                                  .memory = on_memory,
                                  .snapshot = on_snapshot};
    struct statistics *statistics;

    assert_int_equal(
        statistics_new(&program->definitions, NULL, &sink, "facts_run", &statistics, NULL), 0);
    assert_int_equal(statistics_keep_moments(statistics, NULL), 0);
    statistics_leave_rows_out(statistics);
    *ret_n_taken = feed(statistics, program, has_runs);
    save(statistics, ret_saved);
    assert_int_equal(statistics_finish(statistics, NULL), 0);
    return statistics;
}

static void compare_process(const struct statistics *a, const struct statistics *b, uint32_t id)
{
    const struct process_totals *left = &a->totals->processes[id];
    const struct process_totals *right = &b->totals->processes[id];
    const struct timeline *first = &a->processes[id].timeline;
    const struct timeline *second = &b->processes[id].timeline;

    assert_int_equal(left->live_bytes, right->live_bytes);
    assert_int_equal(left->live_blocks, right->live_blocks);
    assert_int_equal(left->peak_bytes, right->peak_bytes);
    assert_int_equal(left->peak_blocks, right->peak_blocks);
    assert_int_equal(left->peak_ns, right->peak_ns);
    assert_int_equal(left->n_allocations, right->n_allocations);
    assert_int_equal(left->n_ends, right->n_ends);
    assert_int_equal(left->n_stacks, right->n_stacks);
    for (uint32_t i = 0; i < left->n_stacks; i++)
        assert_memory_equal(totals_stack(left, i), totals_stack(right, i),
                            sizeof(struct stack_totals));
    assert_int_equal(left->n_sizes, right->n_sizes);
    assert_memory_equal(left->sizes, right->sizes, left->n_sizes * sizeof *left->sizes);
    assert_memory_equal(left->lifetimes, right->lifetimes,
                        LIFETIME_CLASSES * sizeof *left->lifetimes);
    assert_int_equal(first->n_kept, second->n_kept);
    assert_memory_equal(first->kept, second->kept, first->n_kept * sizeof *first->kept);
    assert_int_equal(a->processes[id].n_events, b->processes[id].n_events);
    assert_int_equal(a->processes[id].event_ns, b->processes[id].event_ns);
    assert_int_equal(a->processes[id].last_ns, b->processes[id].last_ns);
    assert_int_equal(a->processes[id].allocated_bytes, b->processes[id].allocated_bytes);
}

static void compare_tallies(const struct hash_map *a, const struct hash_map *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->elements, b->elements, a->n * sizeof(struct pair_totals_entry));
}

static void compare_moments(struct statistics *a, struct statistics *b, uint32_t process)
{
    size_t n_left;
    size_t n_right;
    const struct moment_block *left = moment_blocks_ended_since(a->blocks, process, &n_left);
    const struct moment_block *right = moment_blocks_ended_since(b->blocks, process, &n_right);

    assert_int_equal(n_left, n_right);
    for (size_t i = 0; i < n_left; i++) {
        assert_int_equal(left[i].allocation_id, right[i].allocation_id);
        assert_int_equal(left[i].size_bytes, right[i].size_bytes);
    }
}

/* FN-1 */
TEST(runs_count_as_events_do)
{
    static struct saved left;
    static struct saved right;

    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        struct program *program = make_program(seed);
        struct reported reported_left = {0};
        struct reported reported_right = {0};
        size_t n_taken;
        struct statistics *a = count(program, false, &reported_left, &left, &n_taken);
        struct statistics *b = count(program, true, &reported_right, &right, &n_taken);
        assert_true(n_taken > N_EVENTS / 4);
        assert_int_equal(left.n, right.n);
        assert_memory_equal(left.bytes, right.bytes, left.n);
        for (uint32_t id = 1; id <= N_PROCESSES; id++) {
            compare_process(a, b, id);
            compare_moments(a, b, id);
        }
        assert_memory_equal(a->totals->threads, b->totals->threads,
                            (N_THREADS + 1) * sizeof *a->totals->threads);
        compare_tallies(&a->totals->free_sites, &b->totals->free_sites);
        compare_tallies(&a->totals->flows, &b->totals->flows);
        assert_memory_equal(pairing_counts_get(a->pairing), pairing_counts_get(b->pairing),
                            sizeof(struct pairing_counts));
        assert_int_equal(heap_ranges_count(a->heaps), heap_ranges_count(b->heaps));
        assert_int_equal(reported_left.n, reported_right.n);
        assert_int_equal(reported_left.sum, reported_right.sum);
        statistics_free(a);
        statistics_free(b);
        free(program);
    }
}

/* A stack belongs to the process whose table the slot is of, though the event at that slot is
 * another process's. */
TEST(a_prefetch_slot_of_another_event_keeps_its_stack)
{
    struct live_table live = {.n_slots = 0};
    struct live_table other_live = {.n_slots = 0};
    struct process_totals totals = {.pages = NULL};
    struct stack_totals other_stack = {.backtrace = FIRST_STACK};
    const struct expecting own = {.process = 1, .live = &live, .totals = &totals};
    const struct event event = {
        .kind = EVENT_ALLOC, .process = 1, .address = 4096, .backtrace = FIRST_STACK};
    struct expected expected = {.prefetch_slot = {.table = &other_live, .address = 4096},
                                .stack = &other_stack};

    statistics_prefetch_stack(&own, &event, &expected);
    assert_ptr_equal(expected.stack, &other_stack);
    expected.prefetch_slot.table = &live;
    statistics_prefetch_stack(&own, &event, &expected);
    assert_null(expected.stack);
}
