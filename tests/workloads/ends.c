/* SPDX-License-Identifier: MIT */
/* Allocates, prints its counts, and ends in the way that its argument names. */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

static volatile int never;

static int overflow(int depth)
{
    volatile char big[4096];
    big[0] = (char)depth;
    return never ? 0 : overflow(depth + 1) + big[0];
}

static void *end_main_thread(void *arg)
{
    usleep(10000);
    exit(6);
    return arg;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    for (unsigned i = 0; i < 3000; i++) {
        void *block = own_malloc(i % 3);
        if (i % 3 != 0)
            own_free(block, i % 3);
    }
    expect_own();
    if (strcmp(how, "exit") == 0)
        exit(1);
    if (strcmp(how, "_exit") == 0)
        _exit(2);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(3);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "segv") == 0)
        *(volatile int *)&never = *(volatile int *)8;
    if (strcmp(how, "overflow") == 0)
        return overflow(0);
    if (strcmp(how, "term") == 0)
        raise(SIGTERM);
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, end_main_thread, NULL);
        pthread_exit(NULL);
    }
    return 4;
}
