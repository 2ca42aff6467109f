/* SPDX-License-Identifier: MIT */
/*
 * Call sites whose live bytes have one shape over time each: the function's name says which. All
 * take part in each of 256 steps; what "_freed_at_exit" made is freed after the last one.
 */
#include "tests/workloads/workload.h"

#include <time.h>

enum {
    STEPS = 256,
    CACHE_BLOCKS = 64
};

static void *kept[STEPS];
static void *old_ring[CACHE_BLOCKS];
static void *bounded[CACHE_BLOCKS];
static void *teeth[STEPS];
static void *base[4];

/* The malloc stands in the function itself, which is what is blamed. */
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

/* As full from the first third on: the oldest block makes place for a new one. */
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
}

int main(void)
{
    const struct timespec pause = {.tv_nsec = 4000000};

    keep(once());
    for (unsigned k = 0; k < 30; k++)
        keep(start_up(20));
    for (unsigned k = 0; k < 4; k++)
        base[k] = ramp_on_base(100);
    for (int i = 0; i < STEPS; i++) {
        step(i);
        nanosleep(&pause, NULL);
    }
    for (int i = 0; i < STEPS; i++)
        own_free(kept[i], 3);
    for (unsigned k = 0; k < 4; k++)
        own_free(base[k], 100);
    expect_own();
    return 0;
}
