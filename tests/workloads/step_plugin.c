/* SPDX-License-Identifier: MIT */
/* A plugin of plugin_steps; INNER is the function that leaks, which is in no dynamic symbol
 * table. */
#include "tests/workloads/workload.h"

void plugin_leak(size_t size_bytes);

static __attribute__((noinline)) void INNER(size_t size_bytes)
{
    keep(malloc(size_bytes));
    __asm__ volatile("" ::: "memory");
}

void plugin_leak(size_t size_bytes)
{
    INNER(size_bytes);
    __asm__ volatile("" ::: "memory");
}
