/* SPDX-License-Identifier: MIT */
/*
 * Children that the C library creates inside its own functions. Each leaks blocks of its own size:
 * 2 in forkpty, 3 in _Fork, 4 in system and in popen, 5 in the daemon that runs on at the end.
 * `libc_children leaf` is the program of system and popen.
 */
#include "tests/workloads/workload.h"

#include <errno.h>
#include <pty.h>
#include <string.h>
#include <sys/wait.h>

static void leak(unsigned n)
{
    for (int i = 0; i < 3; i++)
        keep(malloc(OWN_BYTES(n)));
}

static int wait_for(pid_t child)
{
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static int by_forkpty(void)
{
    char text[64];
    int terminal;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    if (child == 0) {
        leak(2);
        _exit(0);
    }
    if (child < 0)
        skip("no pseudo terminal can be had");
    while (read(terminal, text, sizeof(text)) > 0)
        continue;
    close(terminal);
    return wait_for(child);
}

static int by_raw_fork(void)
{
    pid_t child = _Fork();
    if (child == 0) {
        leak(3);
        _exit(0);
    }
    return wait_for(child);
}

int main(int argc, char **argv)
{
    char command[4096];
    FILE *pipe;
    int ok = 0;
    if (argc > 1) {
        leak(4);
        return 0;
    }
    own_malloc(1);
    snprintf(command, sizeof(command), "exec %s leaf", argv[0]);
    ok += by_forkpty() == 0;
    ok += by_raw_fork() == 0;
    ok += system(command) == 0;
    pipe = popen(command, "r");
    ok += pipe != NULL && pclose(pipe) == 0;
    expect("children_ok", (unsigned long long)ok);
    fflush(stdout);
    if (ok != 4 || daemon(1, 1) != 0)
        return 1;
    leak(5);
    return 0;
}
