/* SPDX-License-Identifier: MIT */
/* A single-threaded program forks with fork and _Fork; the children use the heap freely. */
#include "tests/workloads/workload.h"

#include <sys/wait.h>

static void be_child(void *inherited)
{
    for (int i = 0; i < 5000; i++)
        free(keep(malloc(OWN_BYTES(5))));
    free(inherited);
    keep(malloc(OWN_BYTES(6)));
    _exit(0);
}

static int run_child(pid_t (*fork_with)(void), void *inherited)
{
    int status = -1;
    pid_t child = fork_with();
    if (child == 0)
        be_child(inherited);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
    void *inherited = own_malloc(1);
    int ok = 0;
    for (int i = 0; i < 10; i++) {
        ok += run_child(i % 2 == 0 ? fork : _Fork, inherited);
        own_malloc(2);
    }
    own_free(inherited, 1);
    expect_own();
    expect("children_ok", (unsigned long long)ok);
    return ok == 10 ? 0 : 1;
}
