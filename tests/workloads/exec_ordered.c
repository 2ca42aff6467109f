/* SPDX-License-Identifier: MIT */
/*
 * exec_ordered: waits for a line without any heap event, executes itself again, makes five blocks,
 * waits for another line. Prints "ready" before each wait. After "ready" it neither allocates nor
 * frees, so it can handle commands only at the exec.
 *
 * With "fork" it forks instead of the exec; the child allocates until the other line comes, and
 * makes the blocks then. With "forks" it forks a child at each of three lines, which makes the
 * blocks immediately.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SIZE = 20777,
    COUNT = 5
};

static void wait_for_line(void)
{
    char byte = 0;

    if (write(1, "ready\n", 6) != 6)
        _exit(2);
    while (byte != '\n')
        if (read(0, &byte, 1) != 1)
            _exit(3);
}

static void allocate_until_line(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    void *volatile block;

    while (poll(&input, 1, 1) == 0) {
        block = malloc(1);
        free(block);
    }
}

static int fork_one(void **kept)
{
    pid_t child;
    int status = 1;

    kept[0] = malloc(1);
    wait_for_line();
    child = fork();
    if (child == 0) {
        allocate_until_line();
        for (int i = 0; i < COUNT; i++)
            kept[i] = malloc(SIZE);
        _exit(0);
    }
    (void)waitpid(child, &status, 0);
    return status != 0;
}

static int fork_three(void **kept)
{
    int status = 0;

    kept[0] = malloc(1);
    for (int i = 0; i < 3 && status == 0; i++) {
        wait_for_line();
        if (fork() == 0) {
            for (int k = 0; k < COUNT; k++)
                kept[k] = malloc(SIZE);
            _exit(0);
        }
        (void)wait(&status);
    }
    return status != 0;
}

int main(int n, char **arguments)
{
    static void *kept[COUNT];
    char again[] = "again";
    char *const passed[] = {arguments[0], again, NULL};

    if (n > 1 && strcmp(arguments[1], "fork") == 0)
        return fork_one(kept);
    if (n > 1 && strcmp(arguments[1], "forks") == 0)
        return fork_three(kept);
    if (n == 1) {
        kept[0] = malloc(1);
        wait_for_line();
        (void)execv(arguments[0], passed);
        return 1;
    }
    for (int i = 0; i < COUNT; i++)
        kept[i] = malloc(SIZE);
    wait_for_line();
    return kept[0] == NULL;
}
