/* SPDX-License-Identifier: MIT */
/*
 * crash_holding: dies of SIGABRT with blocks of known sizes. A global variable holds 1001 bytes,
 * that block holds 2002, a local variable holds 3003, 4004 are lost, and only the lost block points
 * to 5005.
 */
#include <stdlib.h>
#include <string.h>

struct holder {
    void *next;
    char rest[];
};

struct holder *g_sessions;

static __attribute__((noinline)) struct holder *allocate(size_t size, void *next)
{
    struct holder *holder = calloc(1, size);

    if (!holder)
        _Exit(1);
    holder->next = next;
    return holder;
}

static __attribute__((noinline)) void plant(void)
{
    g_sessions = allocate(1001, allocate(2002, NULL));
    struct holder *volatile lost = allocate(4004, allocate(5005, NULL));

    lost = NULL;
    (void)lost;
}

/* Overwrites what earlier calls left on the stack. */
static __attribute__((noinline)) void clear_stack(void)
{
    volatile char space[16384];

    memset((char *)space, 0, sizeof(space));
    __asm__ volatile("" ::"r"(space) : "memory");
}

int main(void)
{
    struct holder *volatile local = allocate(3003, NULL);

    plant();
    clear_stack();
    abort();
    return local != NULL;
}
