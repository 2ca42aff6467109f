/* SPDX-License-Identifier: MIT */
/*
 * After a seccomp filter that forbids only one call, a vfork child executes another program. Until
 * then it shares the memory of its parent, and no call may tell which process it is. The end of the
 * child's image must not be taken for the parent's.
 */
#include "tests/workloads/forbid.h"
#include "tests/workloads/workload.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
    N_CHILDREN = 5
};

static int run(const char *path)
{
    int status = -1;
    pid_t child = vfork();
    if (child == 0) {
        execl(path, path, (char *)NULL);
        _exit(126);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    own_malloc(1);
    if (!forbid(SYS_getppid))
        skip("this kernel has no seccomp filters");
    for (int i = 0; i < N_CHILDREN; i++) {
        own_malloc(2);
        if (run("/bin/true") != 0 || run("/nonexistent/program") != 126)
            return 1;
        own_free(own_malloc(3), 3);
    }
    expect_own();
    if (argc > 1 && strcmp(argv[1], "kill") == 0) {
        if (run("/bin/true") != 0)
            return 1;
        free(malloc(1));
        raise(SIGKILL);
    }
    if (argc > 1) {
        execl("/nonexistent/program", argv[1], (char *)NULL);
        execl("/bin/true", argv[1], (char *)NULL);
    }
    return 0;
}
