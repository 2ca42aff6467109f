/* SPDX-License-Identifier: MIT */
#include "collector/thread/thread_numbers.h"

#include <stdatomic.h>

static _Atomic uint32_t g_last;
static _Atomic uint32_t g_n_waiting;                       /* maybe too high for a moment */
static _Atomic uint32_t g_waiting[THREAD_NUMBERS_WAITING]; /* 0: a free place */

/* Acquire: what the previous thread of the number wrote comes before what this one writes. */
static uint32_t take_waiting(void)
{
    if (atomic_load_explicit(&g_n_waiting, memory_order_relaxed) == 0)
        return 0;
    for (uint32_t i = 0; i < THREAD_NUMBERS_WAITING; i++) {
        uint32_t number = atomic_load_explicit(&g_waiting[i], memory_order_relaxed);
        if (number
            && atomic_compare_exchange_strong_explicit(
                &g_waiting[i], &number, 0, memory_order_acquire, memory_order_relaxed)) {
            atomic_fetch_sub_explicit(&g_n_waiting, 1, memory_order_relaxed);
            return number;
        }
    }
    return 0;
}

uint32_t thread_numbers_take(bool *ret_is_new)
{
    uint32_t number = take_waiting();

    *ret_is_new = number == 0;
    return number ? number : atomic_fetch_add_explicit(&g_last, 1, memory_order_relaxed) + 1;
}

/* Counts first, so that the count is never too low. */
void thread_numbers_leave(uint32_t number)
{
    atomic_fetch_add_explicit(&g_n_waiting, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < THREAD_NUMBERS_WAITING; i++) {
        uint32_t none = 0;
        if (atomic_compare_exchange_strong_explicit(&g_waiting[i], &none, number,
                                                    memory_order_release, memory_order_relaxed))
            return;
    }
    atomic_fetch_sub_explicit(&g_n_waiting, 1, memory_order_relaxed);
}

void thread_numbers_forget(void)
{
    atomic_store_explicit(&g_last, 0, memory_order_relaxed);
    atomic_store_explicit(&g_n_waiting, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < THREAD_NUMBERS_WAITING; i++)
        atomic_store_explicit(&g_waiting[i], 0, memory_order_relaxed);
}
