/* SPDX-License-Identifier: MIT */
/*
 * One program, 1000 recordings with samples of it: how often the interval of an estimate contains
 * the truth.
 */
#include "importer/totals/totals.h"
#include "tests/lib/unit.h"

#include <math.h>

enum {
    MEAN = 65536,
    N_BLOCKS = 20000,
    N_SEEDS = 1000,
    N_STACKS = 4,
};

/* Blocks of 256 B to 4 KiB, and of 100 KB now and then. Each is freed when 5000 more were made, but
 * for those that leak. */
static unsigned size_of(unsigned i)
{
    return i % 500 == 0 ? 100000 + i : 256 + i * 37 % 3840;
}

static bool leaks(unsigned i)
{
    return i % 3 == 0;
}

static unsigned stack_of(unsigned i)
{
    return 1 + i % 7 % N_STACKS;
}

struct sums {
    double blocks, bytes;
};

struct truth {
    struct sums allocated, leaked, peak, stack_leaked;
};

static struct truth find_truth(void)
{
    struct truth truth = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    struct sums live = {0, 0};

    for (unsigned i = 0; i < N_BLOCKS + 5000; i++) {
        if (i >= 5000 && !leaks(i - 5000)) {
            live.blocks--;
            live.bytes -= (double)size_of(i - 5000);
        }
        if (i >= N_BLOCKS)
            continue;
        live.blocks++;
        live.bytes += (double)size_of(i);
        truth.allocated.blocks++;
        truth.allocated.bytes += (double)size_of(i);
        if (live.bytes > truth.peak.bytes)
            truth.peak = live;
        if (leaks(i)) {
            truth.leaked.blocks++;
            truth.leaked.bytes += (double)size_of(i);
        }
        if (leaks(i) && stack_of(i) == 2) {
            truth.stack_leaked.blocks++;
            truth.stack_leaked.bytes += (double)size_of(i);
        }
    }
    return truth;
}

static double uniform(uint64_t *generator)
{
    *generator ^= *generator << 13;
    *generator ^= *generator >> 7;
    *generator ^= *generator << 17;
    return (double)(*generator >> 11) * 0x1p-53;
}

static bool g_drawn[N_BLOCKS];
static uint32_t g_allocations[N_BLOCKS]; /* of samples up to it: other blocks were not seen */

static struct live_block block_of(unsigned i)
{
    return (struct live_block){.address = 4096 + i,
                               .alloc_ns = 1 + i,
                               .allocations_low = g_allocations[i],
                               .size = size_of(i),
                               .backtrace = stack_of(i),
                               .thread = 1};
}

static void draw(uint64_t seed)
{
    uint64_t generator = (seed + 1) * 0x9e3779b97f4a7c15u;

    for (unsigned i = 0; i < 8; i++)
        uniform(&generator);
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        g_drawn[i] = uniform(&generator) < -expm1(-(double)size_of(i) / MEAN);
        g_allocations[i] = (i ? g_allocations[i - 1] : 0) + g_drawn[i];
    }
}

static struct totals *record(uint64_t seed)
{
    struct totals *totals;

    draw(seed);
    assert_int_equal(totals_new(1, 1, N_STACKS, &totals, NULL), 0);
    totals->processes[1].sample_bytes = MEAN;
    for (unsigned i = 0; i < N_BLOCKS + 5000; i++) {
        totals_advance(totals, 1, 1 + i);
        if (i >= 5000 && g_drawn[i - 5000] && !leaks(i - 5000)) {
            struct live_block block = block_of(i - 5000);
            struct totals_block counted;
            totals_block_read(totals, 1, &block, &counted);
            struct pairing_end end = {
                .time_ns = 1 + i, .intervening = 0, .thread = 1, .ended_by = PAIRING_FREED};
            assert_int_equal(totals_ended(totals, 1, &counted, &end, NULL), 0);
        }
        if (i < N_BLOCKS && g_drawn[i]) {
            struct live_block block = block_of(i);
            struct totals_block counted;
            totals_block_read(totals, 1, &block, &counted);
            assert_int_equal(totals_allocated(totals, 1, &counted, NULL, NULL), 0);
        }
    }
    totals_finish(totals);
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        if (g_drawn[i] && leaks(i)) {
            struct live_block block = block_of(i);
            assert_int_equal(
                totals_live_at_end(totals, 1, &block, PAIRING_LEAKED, block.backtrace, NULL), 0);
        }
    }
    assert_int_equal(totals_flush(totals, NULL), 0);
    return totals;
}

enum number {
    ALLOCATED_BLOCKS,
    ALLOCATED_BYTES,
    LEAKED_BLOCKS,
    LEAKED_BYTES,
    STACK_LEAKED_BLOCKS,
    STACK_LEAKED_BYTES,
    PEAK_BLOCKS,
    PEAK_BYTES,
    N_NUMBERS
};

static const char *const names[] = {
    "allocated blocks",     "allocated bytes",     "leaked blocks", "leaked bytes",
    "leaked blocks of one", "leaked bytes of one", "peak blocks",   "peak bytes"};

struct estimate {
    double value, variance;
};

static void add(struct estimate *estimate, uint64_t value, double variance)
{
    estimate->value += (double)value;
    estimate->variance += variance;
}

static void read_estimates(const struct totals *totals, struct estimate *ret)
{
    const struct process_totals *process = &totals->processes[1];

    for (unsigned i = 0; i < N_NUMBERS; i++)
        ret[i] = (struct estimate){0, 0};
    for (uint32_t i = 0; i < process->n_stacks; i++) {
        const struct stack_totals *stack = totals_stack(process, i);
        const struct stack_variances *variances = stack->variances;
        add(&ret[ALLOCATED_BLOCKS], stack->allocated_blocks, variances->allocated.blocks);
        add(&ret[ALLOCATED_BYTES], stack->allocated_bytes, variances->allocated.bytes);
        add(&ret[LEAKED_BLOCKS], stack->leaked_blocks, variances->leaked.blocks);
        add(&ret[LEAKED_BYTES], stack->leaked_bytes, variances->leaked.bytes);
        add(&ret[PEAK_BLOCKS], stack->peak_blocks, variances->peak.blocks);
        add(&ret[PEAK_BYTES], stack->peak_bytes, variances->peak.bytes);
        if (stack->backtrace != 2)
            continue;
        add(&ret[STACK_LEAKED_BLOCKS], stack->leaked_blocks, variances->leaked.blocks);
        add(&ret[STACK_LEAKED_BYTES], stack->leaked_bytes, variances->leaked.bytes);
    }
}

TEST(intervals_have_the_truth_in_95_of_100)
{
    const struct truth truth = find_truth();
    const double truths[] = {truth.allocated.blocks,    truth.allocated.bytes,
                             truth.leaked.blocks,       truth.leaked.bytes,
                             truth.stack_leaked.blocks, truth.stack_leaked.bytes,
                             truth.peak.blocks,         truth.peak.bytes};
    unsigned n_covered[N_NUMBERS] = {0};
    double sums[N_NUMBERS] = {0};

    for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
        struct estimate estimates[N_NUMBERS];
        struct totals *totals = record(seed);

        read_estimates(totals, estimates);
        for (unsigned i = 0; i < N_NUMBERS; i++) {
            n_covered[i] +=
                fabs(estimates[i].value - truths[i]) <= sample_weight_margin(estimates[i].variance);
            sums[i] += estimates[i].value;
        }
        totals_free(totals);
    }
    for (unsigned i = 0; i < N_NUMBERS; i++) {
        print_message("%s: %.0f, estimated %.0f, %u of %d intervals\n", names[i], truths[i],
                      sums[i] / N_SEEDS, n_covered[i], N_SEEDS);
        assert_in_range(n_covered[i], 930, 970);
        assert_true(fabs(sums[i] / N_SEEDS / truths[i] - 1) < 0.01); /* no bias */
    }
}

/* TO-1 and TO-3 hold for estimates, too, and live bytes at the peak have a variance of their
 * own. */
TEST(estimates_add_up)
{
    struct totals *totals = record(5);
    const struct process_totals *process = &totals->processes[1];
    uint64_t peak_bytes = 0;
    double variance = 0;

    for (uint32_t i = 0; i < process->n_stacks; i++) {
        const struct stack_totals *stack = totals_stack(process, i);
        peak_bytes += stack->peak_bytes;
        variance += stack->variances->peak.bytes;
        assert_int_equal(stack->leaked_bytes, stack->live_bytes);
        assert_int_equal(stack->leaked_blocks, stack->live_blocks);
        assert_int_equal(stack->temporary_blocks, 0); /* cannot be known */
    }
    assert_int_equal(peak_bytes, process->peak_bytes);
    assert_true(fabs(variance / process->peak_variance.bytes - 1) < 1e-6);
    assert_true(process->peak_variance.bytes < (double)MEAN * (double)peak_bytes);
    assert_true(fabs((double)peak_bytes - find_truth().peak.bytes)
                < 2 * sample_weight_margin(variance));
    totals_free(totals);
}

/* SW-2: the same recording, read when its clock is known better, has the same numbers. */
TEST(weights_are_not_those_of_times)
{
    struct totals *totals = record(5);
    unsigned n_above = 0;

    for (unsigned i = 0; i < 1000; i++) {
        struct live_block block = block_of(i);
        const struct sample_weight weight = totals_weight(totals, 1, &block);
        block.alloc_ns += 1 + i % 7;
        const struct sample_weight later = totals_weight(totals, 1, &block);
        assert_int_equal(weight.blocks, later.blocks);
        block.allocations_low += 1;
        n_above += totals_weight(totals, 1, &block).blocks != weight.blocks;
    }
    assert_in_range(n_above, 200, 600); /* blocks at one address are drawn each for itself */
    totals_free(totals);
}
