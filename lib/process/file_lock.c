/* SPDX-License-Identifier: MIT */
#include "lib/process/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

bool file_lock_take(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool file_lock_is_held(int fd)
{
    bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

    if (!is_held)
        (void)flock(fd, LOCK_UN);
    return is_held;
}

bool file_lock_is_taken(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be a pipe */
    bool is_taken;

    if (fd < 0)
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    is_taken = file_lock_is_held(fd);
    close(fd);
    return is_taken;
}
