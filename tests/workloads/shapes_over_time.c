/* SPDX-License-Identifier: MIT */
/*
 * Call sites with one pattern of live bytes over time each, which is the function's name. All take
 * part in each of 256 steps; blocks of "_freed_at_exit" are freed after the last one.
 */
#include "tests/workloads/workload.h"

#include <time.h>

enum {
    STEPS = 256,
    CACHE_BLOCKS = 64,
    STEP_NS = 10000000
};

static void *kept[STEPS];
static void *old_ring[CACHE_BLOCKS];
static void *bounded[CACHE_BLOCKS];
static void *teeth[STEPS];
static void *base[4];
static void *queue[STEPS];
static void *ring_beside_leak[CACHE_BLOCKS];
static void *any_place[CACHE_BLOCKS];
static long most_late_ms;

/* malloc is called by the function itself, so that it is the call site. */
static void *counted(void *block, unsigned n)
{
    if (block == NULL)
        abort();
    own_count_alloc(OWN_BYTES(n));
    return keep(block);
}

__attribute__((noinline)) static void *ramp(void)
{
    return counted(malloc(OWN_BYTES(1)), 1);
}

__attribute__((noinline)) static void *late_ramp(void)
{
    return counted(malloc(OWN_BYTES(2)), 2);
}

__attribute__((noinline)) static void *ramp_freed_at_exit(void)
{
    return counted(malloc(OWN_BYTES(3)), 3);
}

__attribute__((noinline)) static void *burst(void)
{
    return counted(malloc(OWN_BYTES(4)), 4);
}

/* Filled in the first third, and as full from then on: its blocks stay. */
__attribute__((noinline)) static void *plateau(void)
{
    return counted(malloc(OWN_BYTES(5)), 5);
}

/* As full from the first third on: the oldest block is freed for each new one. */
__attribute__((noinline)) static void *plateau_of_new_blocks(void)
{
    return counted(malloc(OWN_BYTES(6)), 6);
}

/* Fills up and is emptied, six times; then the process ends. */
__attribute__((noinline)) static void *saw_tooth(void)
{
    return counted(malloc(OWN_BYTES(7)), 7);
}

/* Half of the blocks of one place are lost, beside a table that lives to the end and is freed. */
__attribute__((noinline)) static void *ramp_on_base(unsigned n)
{
    return counted(malloc(OWN_BYTES(n)), n);
}

/* Many blocks are lost at one time, none at another, beside a queue that always fills and drains,
 * and is larger than the lost blocks. */
__attribute__((noinline)) static void *ramp_beside_queue(void)
{
    return counted(malloc(OWN_BYTES(9)), 9);
}

/* Some are lost beside a cache whose oldest block makes place for a new one. */
__attribute__((noinline)) static void *ramp_beside_cache(void)
{
    return counted(malloc(OWN_BYTES(10)), 10);
}

/* A cache in which a new block takes the place of any. */
__attribute__((noinline)) static void *plateau_of_any_blocks(void)
{
    return counted(malloc(OWN_BYTES(11)), 11);
}

__attribute__((noinline)) static void *once(void)
{
    return counted(malloc(OWN_BYTES(900)), 900);
}

__attribute__((noinline)) static void *start_up(unsigned n)
{
    return counted(malloc(OWN_BYTES(n)), n);
}

static void replace(void **place, void *block, unsigned n)
{
    if (*place)
        own_free(*place, n);
    *place = block;
}

static void step_beside_others(int i)
{
    static unsigned number = 12345;
    static int n_queued;

    if (i % 37 == 5) {
        for (int k = 0; k < 5 + i % 11; k++)
            keep(ramp_beside_queue());
    }
    for (int k = 0; k < 3; k++)
        queue[n_queued++] = ramp_beside_queue();
    if (i % 29 == 28) {
        while (n_queued > 0)
            own_free(queue[--n_queued], 9);
    }
    if (i % 4 == 0)
        keep(ramp_beside_cache());
    replace(&ring_beside_leak[i % CACHE_BLOCKS], ramp_beside_cache(), 10);
    number = number * 1103515245 + 12345;
    replace(&any_place[i < CACHE_BLOCKS ? i : (int)(number >> 16) % CACHE_BLOCKS],
            plateau_of_any_blocks(), 11);
}

static void step(int i)
{
    static int n_teeth;

    keep(ramp());
    if (i >= STEPS * 7 / 10)
        keep(late_ramp());
    kept[i] = ramp_freed_at_exit();
    if (i == STEPS / 2) {
        for (int k = 0; k < 40; k++)
            keep(burst());
    }
    if (i < CACHE_BLOCKS)
        bounded[i] = plateau();
    replace(&old_ring[i % CACHE_BLOCKS], plateau_of_new_blocks(), 6);
    teeth[n_teeth++] = saw_tooth();
    if (i % 40 == 39) {
        while (n_teeth > 0)
            own_free(teeth[--n_teeth], 7);
    }
    if (i % 2)
        keep(ramp_on_base(8));
    else
        own_free(ramp_on_base(8), 8);
    step_beside_others(i);
}

/* Late steps are made up for: the patterns depend on steps only, whatever else uses the
 * processor. */
static void wait_until_due(struct timespec *due)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    long late = (long)(now.tv_sec - due->tv_sec) * 1000 + (now.tv_nsec - due->tv_nsec) / 1000000;
    if (late > most_late_ms)
        most_late_ms = late;
    due->tv_nsec += STEP_NS;
    if (due->tv_nsec >= 1000000000) {
        due->tv_nsec -= 1000000000;
        due->tv_sec++;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, due, NULL) != 0)
        continue;
}

int main(void)
{
    struct timespec due;

    clock_gettime(CLOCK_MONOTONIC, &due);
    keep(once());
    for (unsigned k = 0; k < 30; k++)
        keep(start_up(20));
    for (unsigned k = 0; k < 4; k++)
        base[k] = ramp_on_base(100);
    for (int i = 0; i < STEPS; i++) {
        step(i);
        wait_until_due(&due);
    }
    for (int i = 0; i < STEPS; i++)
        own_free(kept[i], 3);
    for (unsigned k = 0; k < 4; k++)
        own_free(base[k], 100);
    printf("figure most_late_ms %ld\n", most_late_ms);
    expect_own();
    return 0;
}
