/* SPDX-License-Identifier: MIT */
/* Regular snapshots against a history of what was live, told whole and with its length known before. */
#include "importer/facts/snapshots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    N_STACKS = 7,
    N_STEPS = 600,
    N_BLOCKS = 40,
    MAX_TOLD = SNAPSHOTS_MAX + 6,
};

struct step {
    uint64_t time_ns;
    unsigned block;
    bool is_birth;
};

struct history {
    struct step steps[N_STEPS];
    struct live_block blocks[N_STEPS]; /* by step, of births */
    uint64_t start_ns, end_ns;
};

/* What was told, as the levels of all stacks. */
struct told {
    unsigned n;
    uint64_t at_ns[MAX_TOLD];
    uint64_t bytes[MAX_TOLD][N_STACKS], blocks[MAX_TOLD][N_STACKS];
    size_t n_rows[MAX_TOLD];
    unsigned n_peaks, n_ends;
    uint64_t now_bytes[N_STACKS], now_blocks[N_STACKS];
};

static uint64_t next_random(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static void make_history(struct history *history, uint64_t *random)
{
    int live[N_BLOCKS];
    uint64_t now = 1000;

    memset(live, -1, sizeof live);
    history->start_ns = now;
    for (int i = 0; i < N_STEPS; i++) {
        unsigned block = (unsigned)(next_random(random) % N_BLOCKS);
        uint64_t rest = next_random(random) % 16;
        now += rest == 0  ? next_random(random) % 10000000
               : rest < 4 ? 0
                          : next_random(random) % 20000;
        history->steps[i] =
            (struct step){.time_ns = now, .block = (unsigned)i, .is_birth = live[block] < 0};
        if (live[block] < 0) {
            struct live_block *born = &history->blocks[i];
            *born = (struct live_block){.thread = 1};
            born->alloc_ns = now & ((UINT64_C(1) << 56) - 1);
            born->size = next_random(random) % 500 & ((UINT64_C(1) << 48) - 1);
            born->node = (uint32_t)(next_random(random) % N_STACKS) + 1;
            live[block] = i;
        } else {
            history->steps[i].block = (unsigned)live[block];
            live[block] = -1;
        }
    }
    history->end_ns = now + next_random(random) % 3000000;
}

static int on_told(void *context, const struct snapshot *snapshot, struct error *err)
{
    struct told *told = context;

    (void)err;
    told->n_peaks += strcmp(snapshot->reason, "peak") == 0;
    told->n_ends += strcmp(snapshot->reason, "end") == 0;
    if (strcmp(snapshot->reason, "regular") != 0)
        return 0;
    assert_in_range(told->n, 0, MAX_TOLD - 1);
    for (size_t i = 0; i < snapshot->n_stacks; i++) {
        const struct snapshot_stack *stack = &snapshot->stacks[i];
        uint32_t k = stack->node - 1;
        assert_true(stack->live_bytes != told->now_bytes[k]
                    || stack->live_blocks != told->now_blocks[k]);
        told->now_bytes[k] = stack->live_bytes;
        told->now_blocks[k] = stack->live_blocks;
    }
    told->at_ns[told->n] = snapshot->at_ns;
    told->n_rows[told->n] = snapshot->n_stacks;
    memcpy(told->bytes[told->n], told->now_bytes, sizeof told->now_bytes);
    memcpy(told->blocks[told->n], told->now_blocks, sizeof told->now_blocks);
    told->n++;
    return 0;
}

static void run(const struct history *history, uint64_t planned_ns, struct told *told)
{
    const struct pairing_end freed = {.ended_by = PAIRING_FREED, .intervening = PAIRING_UNKNOWN};
    struct totals *totals;
    struct snapshots *snapshots;
    uint64_t peak_id, end_id;

    memset(told, 0, sizeof *told);
    assert_int_equal(totals_new(1, 1, N_STACKS, &totals, NULL), 0);
    assert_int_equal(snapshots_new(1, "/tmp/x", on_told, told, &snapshots, NULL), 0);
    snapshots_plan(snapshots, 1, history->start_ns, planned_ns);
    for (int i = 0; i < N_STEPS; i++) {
        const struct step *step = &history->steps[i];
        struct pairing_end end = freed;
        end.time_ns = step->time_ns;
        if (totals_advance(totals, 1, step->time_ns))
            assert_int_equal(snapshots_advance(snapshots, totals, 1, step->time_ns, NULL), 0);
        if (step->is_birth)
            assert_int_equal(totals_born(totals, 1, &history->blocks[step->block], NULL, NULL), 0);
        else
            assert_int_equal(totals_ended(totals, 1, &history->blocks[step->block], &end, NULL), 0);
    }
    totals_finish(totals);
    assert_int_equal(snapshots_advance(snapshots, totals, 1, history->end_ns, NULL), 0);
    assert_int_equal(
        snapshots_finish(snapshots, totals, 1, history->end_ns, &peak_id, &end_id, NULL), 0);
    assert_int_equal(peak_id, told->n + 1);
    assert_int_equal(end_id, told->n + 2);
    snapshots_free(snapshots);
    totals_free(totals);
}

/* SN-1 */
static void check_levels(const struct history *history, const struct told *told)
{
    for (unsigned n = 0; n < told->n; n++) {
        uint64_t bytes[N_STACKS] = {0};
        uint64_t blocks[N_STACKS] = {0};
        for (int i = 0; i < N_STEPS && history->steps[i].time_ns <= told->at_ns[n]; i++) {
            const struct step *step = &history->steps[i];
            const struct live_block *block = &history->blocks[step->block];
            bytes[block->node - 1] += step->is_birth ? block->size : -(uint64_t)block->size;
            blocks[block->node - 1] += step->is_birth ? 1 : -UINT64_C(1);
        }
        assert_memory_equal(told->bytes[n], bytes, sizeof bytes);
        assert_memory_equal(told->blocks[n], blocks, sizeof blocks);
    }
}

/* SN-2: as many as the width allows, none at the end. */
static void check_instants(const struct history *history, const struct told *told)
{
    uint64_t life_ns = history->end_ns - history->start_ns;

    assert_in_range(told->n, SNAPSHOTS_MAX / 2 - 2, SNAPSHOTS_MAX - 1);
    for (unsigned n = 0; n < told->n; n++) {
        assert_int_equal(told->at_ns[n] - history->start_ns,
                         (n + 1) * (told->at_ns[0] - history->start_ns));
        assert_true(told->at_ns[n] <= history->end_ns - life_ns / SNAPSHOTS_TAIL);
    }
}

static void levels(void **state)
{
    static struct history history;
    static struct told told, planned;
    uint64_t random = 11;

    (void)state;
    for (int round = 0; round < 200; round++) {
        make_history(&history, &random);
        run(&history, history.start_ns, &told);
        check_levels(&history, &told);
        check_instants(&history, &told);
        /* SN-3 */
        run(&history, history.steps[next_random(&random) % N_STEPS].time_ns, &planned);
        assert_memory_equal(&planned, &told, sizeof told);
        run(&history, history.end_ns, &planned);
        assert_memory_equal(&planned, &told, sizeof told);
        assert_int_equal(told.n_peaks, 1);
        assert_int_equal(told.n_ends, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
