/* SPDX-License-Identifier: MIT */
#include "recorder/attach/forbidden.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* True also if unknown. */
static bool may_trace(void)
{
    FILE *file = fopen("/proc/thread-self/status", "re");
    uint64_t effective = UINT64_MAX;
    char line[256];

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "CapEff: %" SCNx64, &effective) == 1)
            break;
    if (file)
        fclose(file);
    return effective >> CAP_SYS_PTRACE & 1;
}

int forbidden_report(pid_t pid, const char *what, struct error *err)
{
    if (geteuid() != 0)
        return error_set(err, ERROR_IO,
                         "process %d may not be %s: attach as root, or as the user it runs as (see "
                         "/proc/sys/kernel/yama/ptrace_scope)",
                         (int)pid, what);
    return error_set(
        err, ERROR_IO,
        may_trace() ? "process %d may not be %s, not even by root: it is in another user namespace "
                      "(a container: run mtrace-record inside), or a security module forbids it"
                    : "process %d may not be %s: mtrace-record runs as root, but without the "
                      "capability CAP_SYS_PTRACE, as in a container (docker run --cap-add "
                      "SYS_PTRACE)",
        (int)pid, what);
}
