/* SPDX-License-Identifier: MIT */
/*
 * Short-lived threads record in parallel and free each other's blocks, while a reader consumes
 * sealed segments and returns them, as mtrace-record does. Each event must be in the log once, or
 * be counted as dropped. Under ThreadSanitizer (preset tsan) the same run looks for races.
 */
#include "collector/events/allocator_guard.h"
#include "collector/events/record.h"
#include "collector/groups/scopes.h"
#include "collector/log/segment.h"
#include "collector/os/clock.h"
#include "collector/sampling/sampled_blocks.h"
#include "collector/sampling/sampler.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/recording_fixture.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
    N_SEGMENTS = 48, /* few enough to be reused */
    WORKERS = 6,
    LIVES = 4, /* of each worker, one thread after the other */
    ROUNDS = 4000,
    SHARED = 64,
    DEPTHS = 5,
};

struct pair_totals {
    uint64_t n_allocs;
    uint64_t n_frees;
    uint64_t n_without_stack;
    uint64_t n_strange; /* impossible segments or events */
    uint64_t address_sum;
};

static struct log_fixture g_log;
static _Atomic(void *) g_shared[SHARED]; /* blocks that any worker may free */
static _Atomic uint64_t g_made_sum, g_freed_sum, g_n_made;
static _Atomic bool g_is_over;

static int begin_recording(void **state)
{
    static const struct config config = {.unwinder = CONFIG_UNWINDER_FAST,
                                         .has_free_backtraces = true};

    (void)state;
#if !defined(__SANITIZE_THREAD__) /* which forgets a thread before its last destructors */
    thread_init();
#endif
    return recording_fixture_begin(&g_log, N_SEGMENTS, &config) ? 0 : 1;
}

/* ---- the program ----------------------------------------------------------------------------- */

static __attribute__((noinline)) void *take(size_t size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    void *block = malloc(size);

    if (!block)
        abort();
    atomic_fetch_add(&g_made_sum, (uintptr_t)block);
    atomic_fetch_add(&g_n_made, 1);
    record_alloc_known(block, size, malloc_usable_size(block), LOG_CALL_MALLOC, 0, &origin);
    return block;
}

static __attribute__((noinline)) void give_back(void *block)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!block)
        return;
    atomic_fetch_add(&g_freed_sum, (uintptr_t)block);
    record_free(block, &origin);
    free(block);
}

static __attribute__((noinline)) void work(unsigned depth, unsigned round)
{
    if (depth > 0) {
        work(depth - 1, round);
        __asm__ volatile("" : : : "memory"); /* no tail call */
        return;
    }
    give_back(atomic_exchange(&g_shared[round * 7 % SHARED], take(16 + round % 100)));
}

static void *live(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;

    scopes_begin(seed % 2 ? 0 : LOG_GROUP_ROOT);
    for (unsigned round = 0; round < ROUNDS; round++)
        work((round + seed) % DEPTHS, round + seed);
    return NULL;
}

static void *run_worker(void *argument)
{
    for (uintptr_t i = 0; i < LIVES; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, live, (void *)((uintptr_t)argument * LIVES + i)) != 0
            || pthread_join(thread, NULL) != 0)
            abort();
    }
    return NULL;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static struct log_segment *segment_number(uint32_t index)
{
    return (struct log_segment *)(void *)((unsigned char *)g_log.file + LOG_FILE_HEADER_BYTES
                                          + (size_t)index * LOG_SEGMENT_BYTES);
}

static void read_events(const struct log_segment *segment, struct pair_totals *tally)
{
    const uint64_t *words = (const uint64_t *)(const void *)(segment + 1);
    size_t n = atomic_load_explicit(&segment->committed_bytes, memory_order_acquire) / 8;
    size_t length;

    for (size_t at = 0; at < n; at += length) {
        unsigned kind = words[at] & 0xff;
        uint64_t address = words[at + 1] << 16 >> 16;
        length = log_event_words(kind);
        if (length == 0 || length > n - at) {
            tally->n_strange++;
            return;
        }
        if (kind != LOG_ALLOC && kind != LOG_FREE) {
            tally->n_strange += !log_event_is_bookkeeping(kind);
            continue;
        }
        tally->n_allocs += kind == LOG_ALLOC;
        tally->n_frees += kind == LOG_FREE;
        tally->n_without_stack += words[at] >> 32 < LOG_NODE_FIRST;
        tally->address_sum += kind == LOG_ALLOC ? address : -address;
    }
}

static void read_segment(const struct log_segment *segment, struct pair_totals *tally)
{
    if (segment->kind == LOG_SEGMENT_EVENTS)
        read_events(segment, tally);
    else
        tally->n_strange += segment->kind != LOG_SEGMENT_DEFS && segment->kind != LOG_SEGMENT_NODES;
}

/* Segments of definitions and nodes stay for the end. */
static void read_sealed(struct pair_totals *tally)
{
    uint64_t head = atomic_exchange_explicit(&g_log.file->sealed_stack, 0, memory_order_acquire);

    for (uint32_t link = (uint32_t)head; link != 0;) {
        struct log_segment *segment = segment_number(link - 1);
        link = atomic_load_explicit(&segment->next, memory_order_relaxed);
        if (segment->kind != LOG_SEGMENT_EVENTS)
            continue;
        read_segment(segment, tally);
        atomic_store_explicit(&segment->state, LOG_STATE_FREE, memory_order_release);
        segment_add_free(segment->index, 1);
    }
}

static void *run_reader(void *argument)
{
    while (!atomic_load(&g_is_over)) {
        read_sealed(argument);
        sched_yield();
    }
    return NULL;
}

static void read_rest(struct pair_totals *tally)
{
    read_sealed(tally);
    for (uint32_t i = 0; i < N_SEGMENTS; i++)
        if (atomic_load(&segment_number(i)->state) == LOG_STATE_FILLING)
            read_segment(segment_number(i), tally);
}

/* ---- all ------------------------------------------------------------------------------------- */

static uint64_t n_dropped(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < LOG_DROP_REASONS; i++)
        n += atomic_load(&g_log.file->dropped[i]);
    return n;
}

TEST(each_event_is_there_once)
{
    pthread_t workers[WORKERS];
    pthread_t reader;
    struct pair_totals tally = {0};
    uint64_t n_frees;

    assert_int_equal(pthread_create(&reader, NULL, run_reader, &tally), 0);
    for (uintptr_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, run_worker, (void *)i), 0);
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(workers[i], NULL), 0);
    atomic_store(&g_is_over, true);
    assert_int_equal(pthread_join(reader, NULL), 0);
    n_frees = g_n_made;
    for (size_t i = 0; i < SHARED; i++)
        n_frees -= g_shared[i] != NULL;
    read_rest(&tally);
    assert_int_equal(tally.n_strange, 0);
    assert_int_equal(tally.n_allocs + tally.n_frees + n_dropped(), g_n_made + n_frees);
    assert_true(tally.n_allocs > g_n_made / 2);
    if (n_dropped() == 0) {
        assert_int_equal(tally.n_allocs, g_n_made);
        assert_int_equal(tally.address_sum, g_made_sum - g_freed_sum);
        assert_int_equal(tally.n_without_stack, 0);
    }
}

/* ---- realloc --------------------------------------------------------------------------------- */

/* Blocks whose contents are not used. */
static void *const g_old = (void *)0x10000;
static void *const g_new = (void *)0x20000;

struct call {
    uint64_t began, ended;
};

/* The event written last, which is a realloc. */
static struct call last_call(void)
{
    bool is_wide = (g_thread.cursor[-4] & 0xff) != LOG_REALLOC;
    const uint64_t *words = g_thread.cursor - (is_wide ? 6 : 4);
    uint64_t time = (words[0] >> 8 & 0xffffff) | words[1] >> LOG_ADDRESS_BITS << 24;
    uint64_t ended = g_thread.base_ticks + time;

    assert_int_equal(words[0] & 0xff, is_wide ? LOG_REALLOC_WIDE : LOG_REALLOC);
    return (struct call){ended - (is_wide ? words[2] >> 8 : words[3] >> LOG_ADDRESS_BITS), ended};
}

static void resized(const struct record_resize *resize)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    record_realloc_known(g_new, 100, 104, LOG_CALL_REALLOC, resize, &origin);
}

/* During the call another thread gets the old address: the free comes before. */
TEST(a_realloc_ends_the_old_block_when_it_begins)
{
    struct record_resize resize;
    struct call call;
    uint64_t within;

    record_resize_begins(&resize, g_old);
    within = clock_ticks_after();
    resized(&resize);
    call = last_call();
    assert_true(call.began <= within && within <= call.ended);

    record_resize_begins(&resize, g_old);
    give_back(take(100)); /* as a handler would */
    within = g_thread.last_ticks;
    resized(&resize);
    assert_int_equal(last_call().began, within);

    record_resize_begins(&resize, g_old);
    resize.began_ticks = 0;
    resized(&resize);
    call = last_call();
    assert_int_equal(call.began, call.ended);
}

/* LF-8: if it is the first event of a segment, readers know its begin before they read it. */
TEST(a_long_realloc_is_not_before_its_segment)
{
    struct record_resize resize;
    const struct log_segment *before = g_thread.segment;

    record_resize_begins(&resize, g_old);
    while (clock_ticks_after() - resize.began_ticks <= 2 * LOG_EARLY_TICKS)
        continue;
    g_thread.cursor = thread_limit_of(g_thread.segment) + 1;
    resized(&resize);
    assert_ptr_not_equal(g_thread.segment, before);
    assert_int_equal(g_thread.segment->base_ticks, resize.began_ticks);
    assert_int_equal(last_call().began, resize.began_ticks);
}

static void made(void)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    record_alloc_known(g_new, 100, 104, LOG_CALL_MALLOC, 0, &origin);
}

/* SB-1: of a muted thread nothing is recorded, and so no end either. */
TEST(unrecorded_blocks_are_no_samples)
{
    bool has_entered;

    sampler_begin(1, 3); /* 100 bytes are drawn, but for one time in 10^43 */
    state_set_sampled();
    made();
    assert_true(sampled_blocks_take(g_new));
    has_entered = allocator_guard_enter();
    made();
    allocator_guard_leave(has_entered);
    assert_true(has_entered);
    assert_false(sampled_blocks_has(g_new));
}

/* The last one but for that: afterwards the log is full. */
TEST(a_note_reports_whether_it_was_logged)
{
    const uint64_t n_most = (uint64_t)N_SEGMENTS * LOG_SEGMENT_BYTES / sizeof(uint64_t);
    const uint64_t before = n_dropped();
    uint64_t n_refused = 0;

    for (uint64_t i = 0; i < n_most; i++)
        n_refused += !record_note(LOG_MOVE, 2, (uintptr_t)g_old);
    assert_true(n_refused > 0 && n_refused < n_most);
    assert_int_equal(n_dropped(), before + n_refused);
}

/* SB-1; behind the one that fills the log. */
TEST(a_block_that_could_not_be_logged_is_no_sample)
{
    struct record_resize resize;
    const uint64_t before = n_dropped();

    made();
    assert_false(sampled_blocks_has(g_new));
    assert_true(sampled_blocks_add(g_old));
    record_resize_begins(&resize, g_old);
    resized(&resize);
    assert_false(sampled_blocks_has(g_new));
    assert_false(sampled_blocks_has(g_old));
    assert_int_equal(n_dropped(), before + 2);
}

static int end_recording(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHARED; i++)
        free(g_shared[i]);
    log_fixture_close(&g_log);
    return 0;
}

TESTS_WITH(begin_recording, end_recording);
