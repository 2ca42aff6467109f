/* SPDX-License-Identifier: MIT */
/*
 * stack_use: how far below its caller each allocator call writes. The stack below is painted before
 * each call and searched after it. Prints `stack CALL TYPICAL MOST` in bytes, not compared with an
 * untracked run but by tests/preload/stack_use.py.
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <string.h>

enum {
    N_CALLS = 20000,
    N_LIVE = 64,
    PAINTED_WORDS = 2048,
    RED_ZONE_WORDS = 16,
    DEPTH = 12,
    STACK_BYTES = 256 * 1024,
};

static const unsigned long long paint = 0x5ac6e1f02b7d9348;

enum call {
    CALL_MALLOC,
    CALL_FREE,
    CALL_REALLOC,
    N_CALL_KINDS
};

static unsigned short depths[N_CALL_KINDS][N_CALLS];
static void *live[N_LIVE];
static unsigned random_state = 1;

static unsigned next_random(void)
{
    random_state = random_state * 1103515245u + 12345u;
    return random_state >> 16;
}

static void *call_it(enum call call, void *block, size_t size_bytes)
{
    if (call == CALL_MALLOC)
        return malloc(size_bytes);
    if (call == CALL_REALLOC)
        return realloc(block, size_bytes);
    free(block);
    return NULL;
}

/* The words from which down the callee's frames lie; a leaf function may use the red zone. */
static __attribute__((noinline)) void *measure(enum call call, unsigned i, void *block,
                                               size_t size_bytes)
{
    volatile unsigned long long *top;
    __asm__ volatile("mov %%rsp, %0" : "=r"(top));
    for (unsigned at = RED_ZONE_WORDS; at < PAINTED_WORDS; at++)
        top[-(int)at] = paint;
    block = keep(call_it(call, block, size_bytes));
    unsigned deepest = PAINTED_WORDS - 1;
    while (deepest > 0 && top[-(int)deepest] == paint)
        deepest--;
    depths[call][i] = (unsigned short)(deepest * sizeof(*top));
    return block;
}

static void run(void)
{
    for (unsigned i = 0; i < N_CALLS; i++) {
        void **slot = &live[next_random() % N_LIVE];
        measure(CALL_FREE, i, *slot, 0);
        *slot = measure(CALL_MALLOC, i, NULL, next_random() % 2000);
        *slot = measure(CALL_REALLOC, i, *slot, next_random() % 2000);
    }
}

/* Frames to capture. */
static __attribute__((noinline)) void descend(unsigned depth)
{
    if (depth > 0)
        descend(depth - 1);
    else
        run();
    __asm__ volatile("");
}

static int compare(const void *a, const void *b)
{
    return *(const unsigned short *)a - *(const unsigned short *)b;
}

static void *begin(void *unused)
{
    static const char *const names[] = {"malloc", "free", "realloc"};
    descend(DEPTH); /* binds what is bound lazily */
    descend(DEPTH);
    for (unsigned call = 0; call < N_CALL_KINDS; call++) {
        qsort(depths[call], N_CALLS, sizeof(depths[call][0]), compare);
        printf("stack %s %u %u\n", names[call], depths[call][N_CALLS * 99 / 100],
               depths[call][N_CALLS - 1]);
    }
    return unused;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, begin, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
