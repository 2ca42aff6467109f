/* SPDX-License-Identifier: MIT */
#include "recorder/running.h"

#include <stdio.h>
#include <string.h>

bool running_is(pid_t pid)
{
    char path[64];
    char text[512];
    const char *at;
    char state;
    long n_threads;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    at = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
    fclose(file);
    if (!at
        || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
                  &state, &n_threads)
               != 2)
        return false;
    return (state != 'Z' && state != 'X') || n_threads > 1;
}
