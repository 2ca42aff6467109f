/* SPDX-License-Identifier: MIT */
#include "lib/process/thread_status.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SECCOMP_STRICT = 1,
    SECCOMP_FILTER = 2
};

bool thread_status_read(pid_t pid, pid_t tid, struct thread_status *ret_status)
{
    char path[64];
    char line[512];
    bool has_uid = false;
    FILE *file;

    *ret_status = (struct thread_status){.state = '?'};
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
    file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof(line), file)) {
        (void)sscanf(line, "State: %c", &ret_status->state);
        (void)sscanf(line, "TracerPid: %d", &ret_status->tracer);
        has_uid = sscanf(line, "Uid: %*u %u", &ret_status->uid) == 1 || has_uid;
        (void)sscanf(line, "Seccomp: %u", &ret_status->seccomp);
        (void)sscanf(line, "Seccomp_filters: %u", &ret_status->n_filters);
        if (strncmp(line, "x86_Thread_features:", 20) == 0)
            ret_status->has_shadow_stack = strstr(line, "shstk") != NULL;
    }
    fclose(file);
    return has_uid;
}

bool thread_status_is_filtered(const struct thread_status *status)
{
    struct thread_status own;

    if (status->seccomp == SECCOMP_STRICT)
        return true;
    return status->seccomp == SECCOMP_FILTER
           && (!thread_status_read(getpid(), gettid(), &own) || own.seccomp != SECCOMP_FILTER
               || own.n_filters != status->n_filters);
}
