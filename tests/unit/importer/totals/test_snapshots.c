/* SPDX-License-Identifier: MIT */
/* Regular snapshots against a history of live bytes: whole, in pieces, and in windows. */
#include "importer/totals/snapshots.h"
#include "tests/lib/unit.h"

#include <string.h>

enum {
    N_STACKS = 7,
    N_STEPS = 600,
    N_BLOCKS = 40,
    MAX_GAPS = 4,
    MAX_REPORTED = SNAPSHOTS_MAX + 6,
};

struct step {
    uint64_t time_ns;
    unsigned block;
    bool is_allocation;
};

/* Steps during which nothing is recorded, though blocks are freed; begin < end. */
struct gap {
    int begin, end;
};

struct history {
    struct step steps[N_STEPS];
    struct gap gaps[MAX_GAPS]; /* in order */
    int n_gaps;
    struct live_block blocks[N_STEPS]; /* by step of the allocation */
    uint64_t start_ns, end_ns;
};

/* The reported levels of all stacks. */
struct reported {
    unsigned n;
    uint64_t at_ns[MAX_REPORTED];
    uint64_t bytes[MAX_REPORTED][N_STACKS], blocks[MAX_REPORTED][N_STACKS];
    size_t n_rows[MAX_REPORTED];
    unsigned n_peaks, n_ends;
    uint64_t now_bytes[N_STACKS], now_blocks[N_STACKS];
};

static uint64_t next_random(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static void make_history(struct history *history, uint64_t start_ns, uint64_t *random)
{
    int live[N_BLOCKS];
    uint64_t now = start_ns;

    memset(live, -1, sizeof live);
    history->start_ns = now;
    for (int i = 0; i < N_STEPS; i++) {
        unsigned block = (unsigned)(next_random(random) % N_BLOCKS);
        uint64_t rest = next_random(random) % 16;
        now += rest == 0  ? next_random(random) % 10000000
               : rest < 4 ? 0
                          : next_random(random) % 20000;
        history->steps[i] =
            (struct step){.time_ns = now, .block = (unsigned)i, .is_allocation = live[block] < 0};
        if (live[block] < 0) {
            struct live_block *allocated = &history->blocks[i];
            *allocated = (struct live_block){.thread = 1};
            allocated->alloc_ns = now & ((UINT64_C(1) << 56) - 1);
            allocated->size = next_random(random) % 500 & ((UINT64_C(1) << 48) - 1);
            allocated->backtrace = (uint32_t)(next_random(random) % N_STACKS) + 1;
            live[block] = i;
        } else {
            history->steps[i].block = (unsigned)live[block];
            live[block] = -1;
        }
    }
    history->end_ns = now + next_random(random) % 3000000;
}

static int on_reported(void *context, const struct snapshot *snapshot, struct error *err)
{
    struct reported *reported = context;

    (void)err;
    reported->n_peaks += strcmp(snapshot->reason, "peak") == 0;
    reported->n_ends += strcmp(snapshot->reason, "end") == 0;
    if (strcmp(snapshot->reason, "regular") != 0)
        return 0;
    assert_in_range(reported->n, 0, MAX_REPORTED - 1);
    for (size_t i = 0; i < snapshot->n_stacks; i++) {
        const struct snapshot_stack *stack = &snapshot->stacks[i];
        uint32_t k = stack->backtrace - 1;
        assert_true(stack->live_bytes != reported->now_bytes[k]
                    || stack->live_blocks != reported->now_blocks[k]);
        reported->now_bytes[k] = stack->live_bytes;
        reported->now_blocks[k] = stack->live_blocks;
    }
    reported->at_ns[reported->n] = snapshot->at_ns;
    reported->n_rows[reported->n] = snapshot->n_stacks;
    memcpy(reported->bytes[reported->n], reported->now_bytes, sizeof reported->now_bytes);
    memcpy(reported->blocks[reported->n], reported->now_blocks, sizeof reported->now_blocks);
    reported->n++;
    return 0;
}

static void run(const struct history *history, unsigned n_idle, struct reported *reported)
{
    const struct pairing_end freed = {.ended_by = PAIRING_FREED, .intervening = PAIRING_UNKNOWN};
    struct totals *totals;
    struct snapshots *snapshots;
    uint64_t peak_id, end_id;

    memset(reported, 0, sizeof *reported);
    assert_int_equal(totals_new(1, 1, N_STACKS, &totals, NULL), 0);
    assert_int_equal(snapshots_new(1, "/tmp/x", on_reported, reported, &snapshots, NULL), 0);
    snapshots_plan(snapshots, 1, history->start_ns);
    for (int i = 0; i < N_STEPS; i++) {
        const struct step *step = &history->steps[i];
        uint64_t before_ns = i ? history->steps[i - 1].time_ns : history->start_ns;
        struct pairing_end end = freed;
        end.time_ns = step->time_ns;
        for (unsigned k = 1; k <= n_idle; k++)
            assert_int_equal(
                snapshots_advance(snapshots, totals, 1,
                                  before_ns + (step->time_ns - before_ns) * k / (n_idle + 1), NULL),
                0);
        if (totals_advance(totals, 1, step->time_ns))
            assert_int_equal(snapshots_advance(snapshots, totals, 1, step->time_ns, NULL), 0);
        for (int k = 0; k < history->n_gaps; k++) {
            if (history->gaps[k].begin == i)
                snapshots_pause(snapshots, 1, step->time_ns);
            if (history->gaps[k].end == i)
                snapshots_resume(snapshots, 1, step->time_ns);
        }
        struct totals_block counted;
        totals_block_read(totals, 1, &history->blocks[step->block], &counted);
        if (step->is_allocation)
            assert_int_equal(totals_allocated(totals, 1, &counted, NULL, NULL), 0);
        else
            assert_int_equal(totals_ended(totals, 1, &counted, &end, NULL), 0);
    }
    totals_finish(totals);
    assert_int_equal(snapshots_advance(snapshots, totals, 1, history->end_ns, NULL), 0);
    assert_int_equal(
        snapshots_finish(snapshots, totals, 1, history->end_ns, &peak_id, &end_id, NULL), 0);
    assert_int_equal(peak_id, reported->n + 1);
    assert_int_equal(end_id, reported->n + 2);
    snapshots_free(snapshots);
    totals_free(totals);
}

/* SN-1 */
static void check_levels(const struct history *history, const struct reported *reported)
{
    for (unsigned n = 0; n < reported->n; n++) {
        uint64_t bytes[N_STACKS] = {0};
        uint64_t blocks[N_STACKS] = {0};
        for (int i = 0; i < N_STEPS && history->steps[i].time_ns <= reported->at_ns[n]; i++) {
            const struct step *step = &history->steps[i];
            const struct live_block *block = &history->blocks[step->block];
            bytes[block->backtrace - 1] +=
                step->is_allocation ? block->size : -(uint64_t)block->size;
            blocks[block->backtrace - 1] += step->is_allocation ? 1 : -UINT64_C(1);
        }
        assert_memory_equal(reported->bytes[n], bytes, sizeof bytes);
        assert_memory_equal(reported->blocks[n], blocks, sizeof blocks);
    }
}

/* Of the time until then, what was recorded. */
static uint64_t recorded_ns(const struct history *history, uint64_t until_ns)
{
    uint64_t sum = until_ns - history->start_ns;

    for (int i = 0; i < history->n_gaps; i++) {
        uint64_t begin = history->steps[history->gaps[i].begin].time_ns;
        uint64_t end = history->gaps[i].end < N_STEPS ? history->steps[history->gaps[i].end].time_ns
                                                      : history->end_ns;
        if (until_ns > begin)
            sum -= (until_ns < end ? until_ns : end) - begin;
    }
    return sum;
}

/* SN-2: as many as the width allows, none at the end. */
static void check_instants(const struct history *history, const struct reported *reported)
{
    uint64_t all_ns = recorded_ns(history, history->end_ns);

    assert_in_range(reported->n, SNAPSHOTS_MAX / 2 - 2, SNAPSHOTS_MAX - 1);
    for (unsigned n = 0; n < reported->n; n++) {
        assert_int_equal(recorded_ns(history, reported->at_ns[n]),
                         (n + 1) * recorded_ns(history, reported->at_ns[0]));
        assert_true(recorded_ns(history, reported->at_ns[n]) <= all_ns - all_ns / SNAPSHOTS_TAIL);
    }
}

/* The last gap may last until the end. */
static void make_gaps(struct history *history, uint64_t *random)
{
    int at = (int)(next_random(random) % 100);

    history->n_gaps = 0;
    while (history->n_gaps < MAX_GAPS && at < N_STEPS - 1) {
        struct gap *gap = &history->gaps[history->n_gaps++];
        gap->begin = at;
        gap->end = at + 1 + (int)(next_random(random) % 300);
        at = gap->end + 1 + (int)(next_random(random) % 150);
        if (gap->end > N_STEPS)
            gap->end = N_STEPS;
    }
}

/* Snapshots are in recorded time, as many in a short window as in a whole run. */
TEST(windows)
{
    static struct history history;
    static struct reported reported;
    uint64_t random = 12;

    for (int round = 0; round < 200; round++) {
        make_history(&history, round % 2 ? 1000 : 0, &random);
        make_gaps(&history, &random);
        run(&history, 0, &reported);
        check_levels(&history, &reported);
        check_instants(&history, &reported);
    }
}

/* A log with a wrong clock: the last snapshots would lie beyond the largest number. */
TEST(at_the_end_of_time)
{
    static const uint64_t starts[] = {0, 1000, UINT64_MAX / 2, UINT64_MAX - 5000};
    static const uint64_t ends[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_C(0xff000c17350822e9),
                                    UINT64_C(0xfffc000000000000)};

    for (size_t i = 0; i < 16; i++) {
        static struct reported reported;
        struct snapshots *snapshots;
        struct totals *totals;
        uint64_t peak_id, end_id;
        memset(&reported, 0, sizeof reported);
        assert_int_equal(totals_new(1, 1, N_STACKS, &totals, NULL), 0);
        assert_int_equal(snapshots_new(1, "/tmp/x", on_reported, &reported, &snapshots, NULL), 0);
        snapshots_plan(snapshots, 1, starts[i % 4]);
        assert_int_equal(snapshots_advance(snapshots, totals, 1, ends[i / 4], NULL), 0);
        totals_finish(totals);
        assert_int_equal(
            snapshots_finish(snapshots, totals, 1, ends[i / 4], &peak_id, &end_id, NULL), 0);
        assert_in_range(reported.n, 0, SNAPSHOTS_MAX);
        snapshots_free(snapshots);
        totals_free(totals);
    }
}
