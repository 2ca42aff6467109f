/* SPDX-License-Identifier: MIT */
/* wait_for_state: a program recorded with --aggregate into run.dat runs until checkpoints were
 * saved. */
#ifndef MTRACE_TESTS_WAIT_FOR_STATE_H
#define MTRACE_TESTS_WAIT_FOR_STATE_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void allocate(int n)
{
    for (int i = 0; i < n; i++)
        free(malloc(16 + i % 100));
}

/* A new checkpoint replaces the last one by rename. */
static ino_t state_file(void)
{
    struct stat file;

    return stat("run.dat.state", &file) == 0 ? file.st_ino : 0;
}

/* Allocates until the next checkpoint was saved. Returns false if none was within half a minute. */
static bool wait_for_state(void)
{
    ino_t before = state_file();

    for (int round = 0; round < 600 && state_file() == before; round++) {
        allocate(20000);
        usleep(50000);
    }
    return state_file() != before;
}

#endif
