/* SPDX-License-Identifier: MIT */
/*
 * Spawns programs with as many variables as the kernel accepts, and programs whose file the child
 * opens itself.
 */
#include "tests/workloads/workload.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
    TEXT_BYTES = 100 * 1024,
    MAX_BYTES = 128 * 1024, /* for arguments and variables with the limit of stacks that is set */
    PATH_BYTES = 32,        /* posix_spawnp finds the program by a longer path */
    FD = 9,
};

static char text[TEXT_BYTES + 1];
static char text_again[TEXT_BYTES + 1];
static char *variables[] = {text, text_again, NULL};

static int end_of(pid_t child)
{
    int status = -1;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* By a raw system call, which adds nothing. */
static int fits(char *const argv[], size_t n)
{
    pid_t child;

    text_again[n] = '\0';
    child = fork();
    if (child == 0) {
        syscall(SYS_execve, argv[0], argv, variables);
        _exit(126);
    }
    text_again[n] = 'x';
    return end_of(child) == 0;
}

static int spawn_with_most(void)
{
    char *const argv[] = {(char *)"/bin/true", NULL};
    const struct rlimit limit = {4 * MAX_BYTES, 4 * MAX_BYTES};
    size_t least = PATH_BYTES + 2;
    size_t most = TEXT_BYTES;
    pid_t child = -1;
    int n_ok = 0;

    memset(text, 'x', TEXT_BYTES);
    memset(text_again, 'x', TEXT_BYTES);
    text[1] = text_again[1] = '=';
    if (setrlimit(RLIMIT_STACK, &limit) != 0 || !fits(argv, least) || fits(argv, most))
        skip("the limit of arguments and variables is another");
    while (most - least > 1) {
        size_t middle = least + (most - least) / 2;
        *(fits(argv, middle) ? &least : &most) = middle;
    }
    text_again[least - PATH_BYTES] = '\0';
    n_ok += posix_spawn(&child, argv[0], NULL, NULL, argv, variables) == 0 && end_of(child) == 0;
    n_ok += posix_spawnp(&child, "true", NULL, NULL, argv, variables) == 0 && end_of(child) == 0;
    return n_ok;
}

/* The shell prints the libraries that were loaded before it. */
static int spawn_opened(const char *path)
{
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)"echo \"preloaded: $LD_PRELOAD\"",
                          NULL};
    char *const no_variables[] = {NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    int error;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, FD, "/bin/sh", O_RDONLY, 0);
    error = posix_spawn(&child, path, &actions, NULL, argv, no_variables);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 && end_of(child) == 0;
}

int main(void)
{
    int n_ok = 0;

    own_free(own_malloc(1), 1);
    n_ok += spawn_opened("/proc/self/fd/9");
    n_ok += spawn_opened("/dev/fd/9");
    n_ok += spawn_with_most();
    expect_own();
    expect("children_ok", (unsigned long long)n_ok);
    return n_ok == 4 ? 0 : 1;
}
