/* SPDX-License-Identifier: MIT */
#include "recorder/running.h"

#include <stdio.h>
#include <string.h>

enum {
    STAT_BYTES = 1024
};

/* What follows the name in /proc/PID/stat, NULL when there is none. */
static const char *read_stat(pid_t pid, char *text, int n_bytes)
{
    char path[64];
    FILE *file;
    const char *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return NULL;
    at = fgets(text, n_bytes, file) ? strrchr(text, ')') : NULL;
    fclose(file);
    return at ? at + 1 : NULL;
}

bool running_is(pid_t pid)
{
    char text[STAT_BYTES];
    const char *at = read_stat(pid, text, sizeof(text));
    char state;
    long n_threads;

    if (!at
        || sscanf(at, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
                  &state, &n_threads)
               != 2)
        return false;
    return (state != 'Z' && state != 'X') || n_threads > 1;
}

/* exit_code is the last field. The kernel shows 0 to those who may not know, so 0 says nothing. */
bool running_find_status(pid_t pid, int *ret_wait_status)
{
    char text[STAT_BYTES];
    const char *at = read_stat(pid, text, sizeof(text));
    const char *last = at ? strrchr(at, ' ') : NULL;

    return last && at[1] == 'Z' && sscanf(last, "%d", ret_wait_status) == 1
           && *ret_wait_status != 0;
}
