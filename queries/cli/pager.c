/* SPDX-License-Identifier: MIT */
#include "queries/cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager; /* 0: none */

static void run(const char *command, int input)
{
    (void)setenv("LESS", "FRX", 0);
    (void)setenv("LV", "-c", 0);
    if (dup2(input, STDIN_FILENO) >= 0)
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(EXIT_FAILURE);
}

void pager_start(void)
{
    static const char otherwise[] =
        "if command -v less >/dev/null; then exec less; else exec cat; fi";
    const char *command = getenv("PAGER");
    int ends[2];

    if (!command)
        command = otherwise;
    if (!*command || strcmp(command, "cat") == 0 || pipe2(ends, O_CLOEXEC) != 0)
        return;
    (void)fflush(stdout);
    pager = fork();
    if (pager == 0)
        run(command, ends[0]);
    if (pager > 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        if (isatty(STDERR_FILENO))
            (void)dup2(ends[1], STDERR_FILENO);
    } else {
        pager = 0;
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
}

void pager_finish(void)
{
    if (pager == 0)
        return;
    (void)signal(SIGINT, SIG_IGN); /* ^C in the pager is meant for the pager */
    (void)fclose(stdout);
    (void)close(STDERR_FILENO);
    while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
        continue;
}
