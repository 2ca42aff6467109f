/* SPDX-License-Identifier: MIT */
/* Allocates, then execs itself twice; blocks lost at exec are not leaks of the next image. */
#include "tests/workloads/workload.h"

#include <string.h>

int main(int argc, char **argv)
{
    int round = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 100 * (round + 1); i++)
        own_malloc((unsigned)round);
    if (round < 2) {
        char next[2] = {(char)('1' + round), '\0'};
        execl("/nonexistent/program", "program", (char *)NULL);
        execl("/proc/self/exe", argv[0], next, (char *)NULL);
        return 1;
    }
    expect_own();
    return 0;
}
