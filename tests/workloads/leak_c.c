/* SPDX-License-Identifier: MIT */
/* Leaks at known lines: a plain one, an inlined one, a chain of reallocs, aligned blocks, a
 * thread. */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <string.h>

static volatile int sink;

__attribute__((noinline)) static int make_plain(void)
{
    for (int i = 0; i < 7; i++)
        keep(malloc(OWN_BYTES(1)));
    return __LINE__ - 1;
}

WORKLOAD_INLINE int make_inlined(void)
{
    keep(calloc(1, OWN_BYTES(2)));
    return __LINE__ - 1;
}

__attribute__((noinline)) static int call_inlined(void)
{
    int line = make_inlined();
    sink = line; /* no tail call */
    return line;
}

__attribute__((noinline)) static int grow_chain(void)
{
    void *block = malloc(100);
    for (unsigned n = 0; n < 20; n++)
        block = keep(realloc(block, OWN_BYTES(n)));
    return __LINE__ - 1;
}

__attribute__((noinline)) static int make_aligned(void)
{
    void *block;
    for (int i = 0; i < 3; i++)
        sink = posix_memalign(&block, 256, OWN_BYTES(4));
    keep(block);
    return __LINE__ - 2;
}

__attribute__((noinline)) static void *in_thread(void *ret_line)
{
    keep(malloc(OWN_BYTES(5)));
    *(int *)ret_line = __LINE__ - 1;
    return NULL;
}

__attribute__((noinline)) static int copy_string(void)
{
    char text[1000];
    memset(text, 'a', OWN_BYTES(0) - 1);
    text[OWN_BYTES(0) - 1] = '\0';
    keep(strdup(text));
    return __LINE__ - 1;
}

__attribute__((noinline)) static void free_all(void)
{
    for (int i = 0; i < 100; i++)
        free(keep(malloc(OWN_BYTES(9))));
}

int main(void)
{
    int thread_line = 0;
    pthread_t thread;
    expect_leak(7 * OWN_BYTES(1), 7, "make_plain", "leak_c.c", make_plain());
    expect_leak(OWN_BYTES(2), 1, "make_inlined", "leak_c.c", call_inlined());
    expect_leak(OWN_BYTES(19), 1, "grow_chain", "leak_c.c", grow_chain());
    expect_leak(3 * OWN_BYTES(4), 3, "make_aligned", "leak_c.c", make_aligned());
    expect_leak(OWN_BYTES(0), 1, "copy_string", "leak_c.c", copy_string());
    pthread_create(&thread, NULL, in_thread, &thread_line);
    pthread_join(thread, NULL);
    expect_leak(OWN_BYTES(5), 1, "in_thread", "leak_c.c", thread_line);
    free_all();
    return 0;
}
