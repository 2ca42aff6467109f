/* SPDX-License-Identifier: MIT */
#include "lib/process/patient_open.h"

#include "lib/base/monotonic.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

static const uint64_t time_limit_ns = 2000000000;

int patient_open_at(int folder, const char *name, int flags)
{
    static const struct timespec pause = {.tv_nsec = 500000};
    const uint64_t until_ns = monotonic_now_ns() + time_limit_ns;
    int fd = openat(folder, name, flags);

    while (fd < 0 && errno == EWOULDBLOCK && monotonic_now_ns() < until_ns) {
        nanosleep(&pause, NULL);
        fd = openat(folder, name, flags);
    }
    return fd;
}

int patient_open(const char *path, int flags)
{
    return patient_open_at(AT_FDCWD, path, flags);
}
