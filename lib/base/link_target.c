/* SPDX-License-Identifier: MIT */
#include "lib/base/link_target.h"

#include <sys/types.h>
#include <unistd.h>

bool link_target(const char *path, char *ret_target, size_t n_bytes)
{
    ssize_t n = readlink(path, ret_target, n_bytes - 1);

    ret_target[n > 0 ? n : 0] = '\0';
    return n > 0;
}
