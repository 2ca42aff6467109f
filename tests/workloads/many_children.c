/* SPDX-License-Identifier: MIT */
/*
 * many_children N: N children that run together. Each makes 100 blocks, waits until all of them and
 * their recorder had time for it, and makes 20000 more. All blocks are of 777 bytes, and freed.
 */
#include "tests/workloads/workload.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void make_blocks(int n)
{
    for (int i = 0; i < n; i++)
        free(keep(malloc(777)));
}

static void be_child(int wait_fd)
{
    char byte;

    make_blocks(100);
    while (read(wait_fd, &byte, 1) > 0)
        continue;
    make_blocks(20000);
    _exit(0);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    int n_ended_well = 0;
    int status;
    int ends[2];

    if (pipe(ends) != 0)
        return 1;
    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            close(ends[1]);
            be_child(ends[0]);
        }
    close(ends[0]);
    usleep(700000);
    close(ends[1]);
    while (wait(&status) > 0)
        n_ended_well += status == 0;
    printf("children_ok %d\n", n_ended_well);
    return 0;
}
