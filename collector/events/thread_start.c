/* SPDX-License-Identifier: MIT */
#include "collector/events/thread_start.h"

#include "collector/os/memory.h"

struct chunk {
    struct start places[THREAD_START_IN_CHUNK];
};

static struct chunk g_first; /* also exists with a seccomp filter */
static _Atomic(struct chunk *) g_more[THREAD_START_CHUNKS - 1];
static _Atomic uint32_t g_n_made; /* places taken so far */

/* High half: a tag. Low half: number of the first free place plus one; 0: none. */
static _Atomic uint64_t g_top;

/* The place must have been taken before. */
static struct start *place(uint32_t number)
{
    uint32_t i = number / THREAD_START_IN_CHUNK;
    struct chunk *chunk =
        i == 0 ? &g_first : atomic_load_explicit(&g_more[i - 1], memory_order_acquire);

    return &chunk->places[number % THREAD_START_IN_CHUNK];
}

static uint64_t changed(uint64_t top, uint32_t next)
{
    return ((top >> 32) + 1) << 32 | next;
}

static struct start *take_again(void)
{
    uint64_t top = atomic_load_explicit(&g_top, memory_order_acquire);

    while ((uint32_t)top != 0) {
        struct start *first = place((uint32_t)top - 1);
        uint32_t next = atomic_load_explicit(&first->next, memory_order_relaxed);
        /* acquire: the last user's stores */
        if (atomic_compare_exchange_weak_explicit(&g_top, &top, changed(top, next),
                                                  memory_order_acquire, memory_order_acquire))
            return first;
    }
    return NULL;
}

static struct chunk *make_chunk(_Atomic(struct chunk *) *link)
{
    struct chunk *chunk = atomic_load_explicit(link, memory_order_acquire);
    struct chunk *fresh = chunk ? NULL : memory_map_inherited(sizeof(*fresh));

    if (!fresh)
        return chunk;
    if (atomic_compare_exchange_strong_explicit(link, &chunk, fresh, memory_order_acq_rel,
                                                memory_order_acquire))
        return fresh;
    memory_unmap(fresh, sizeof(*fresh));
    return chunk;
}

static struct start *take_fresh(void)
{
    uint32_t number = atomic_load_explicit(&g_n_made, memory_order_relaxed);
    struct chunk *chunk;

    do {
        if (number == THREAD_START_IN_CHUNK * THREAD_START_CHUNKS)
            return NULL;
        chunk = number < THREAD_START_IN_CHUNK
                    ? &g_first
                    : make_chunk(&g_more[number / THREAD_START_IN_CHUNK - 1]);
        if (!chunk)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&g_n_made, &number, number + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    chunk->places[number % THREAD_START_IN_CHUNK].number = number;
    return &chunk->places[number % THREAD_START_IN_CHUNK];
}

struct start *thread_start_take(void)
{
    struct start *start = take_again();

    return start ? start : take_fresh();
}

void thread_start_give_back(struct start *start)
{
    uint64_t top = atomic_load_explicit(&g_top, memory_order_relaxed);

    do
        atomic_store_explicit(&start->next, (uint32_t)top, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&g_top, &top, changed(top, start->number + 1),
                                                  memory_order_release, memory_order_relaxed));
}
