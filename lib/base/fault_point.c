/* SPDX-License-Identifier: MIT */
#include "lib/base/fault_point.h"

#ifdef MTRACE_FAULT_POINTS
#    include <signal.h>
#    include <stdbool.h>
#    include <stdlib.h>
#    include <string.h>

void fault_point(const char *name)
{
    static long n_left = -1;
    static bool is_done; /* a stopped recorder continues */
    const char *wanted = getenv("MTRACE_RECORD_FAULT");
    size_t n_name = strlen(name);
    int signal_number = SIGKILL;
    char *end;

    if (is_done || !wanted || strncmp(wanted, name, n_name) != 0)
        return;
    if (wanted[n_name] != '\0' && wanted[n_name] != ':')
        return;
    if (n_left < 0)
        n_left = wanted[n_name] ? strtol(wanted + n_name + 1, &end, 10) : 1;
    if (--n_left != 0)
        return;
    is_done = true;
    end = strrchr(wanted, ':');
    if (end && end != wanted + n_name)
        signal_number = (int)strtol(end + 1, NULL, 10);
    raise(signal_number);
}
#endif
