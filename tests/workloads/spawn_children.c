/* SPDX-License-Identifier: MIT */
/*
 * Starts programs by vfork+exec, posix_spawn, system and popen, and tries an exec that fails. The
 * vfork child shares the parent's memory: its allocations are the parent's.
 */
#include "tests/workloads/workload.h"

#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static int wait_for(pid_t child)
{
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1;
}

static int by_vfork(char *const argv[])
{
    pid_t child = vfork();
    if (child == 0) {
        execv(argv[0], argv);
        _exit(126);
    }
    return wait_for(child);
}

static int by_spawn(char *const argv[])
{
    pid_t child;
    return posix_spawnp(&child, argv[0], NULL, NULL, argv, environ) == 0 ? wait_for(child) : -1;
}

static int by_popen(void)
{
    char word[16] = "";
    FILE *pipe = popen("echo word", "r");
    if (pipe == NULL || fgets(word, sizeof(word), pipe) == NULL)
        return -1;
    return pclose(pipe) == 0 && strcmp(word, "word\n") == 0 ? 0 : -1;
}

int main(void)
{
    char *const true_argv[] = {"/bin/true", NULL};
    char *const missing_argv[] = {"/nonexistent/program", NULL};
    char *const spawn_argv[] = {"true", NULL};
    int ok = 0;
    for (int i = 0; i < 5; i++) {
        void *block = own_malloc(1);
        ok += by_vfork(true_argv) == 0;
        ok += by_vfork(missing_argv) == 126;
        ok += by_spawn(spawn_argv) == 0;
        ok += system("exit 7") == 7 << 8;
        ok += by_popen() == 0;
        own_malloc(2);
        own_free(block, 1);
    }
    expect_own();
    expect("children_ok", (unsigned long long)ok);
    return ok == 25 ? 0 : 1;
}
