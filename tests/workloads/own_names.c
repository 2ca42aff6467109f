/* SPDX-License-Identifier: MIT */
/*
 * own_names [echo]: functions and a variable of the program have names that libc has, too, and that
 * ISO C leaves to programs (own_names_libc.c). Libraries must not call them.
 *
 * echo: first waits for a line, and writes it back.
 */
#define environ environ_of_libc /* this one is no pointer */
#include "tests/workloads/workload.h"
#undef environ
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

extern struct {
    char text[16];
} environ;

static void *allocate(void *unused)
{
    own_free(own_malloc(2), 2);
    return unused;
}

static void run_child(void)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"test \"$OWN_NAMES\" = kept", NULL};
    int status = 1;
    pid_t pid = fork();

    if (pid == 0) {
        execv("/bin/sh", argv);
        _exit(1);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        abort();
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char line[16];

    (void)argv;
    if (argc > 1) {
        ssize_t n = read(STDIN_FILENO, line, sizeof(line));
        if (n <= 0 || write(STDOUT_FILENO, line, (size_t)n) != n)
            return 2;
    }
    own_malloc(1);
    setenv("OWN_NAMES", "kept", 1);
    if (pthread_create(&thread, NULL, allocate, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    run_child();
    if (strcmp(environ.text, "not a pointer") != 0)
        return 2;
    expect_own();
    return 3;
}
