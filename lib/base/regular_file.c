/* SPDX-License-Identifier: MIT */
#include "lib/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int regular_file_open(const char *path, enum error_code otherwise, int *ret_fd,
                      struct stat *ret_status, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int code = 0;

    if (fd < 0 || fstat(fd, ret_status) != 0)
        code = error_set_errno(err, errno, "cannot open '%s'", path);
    else if (!S_ISREG(ret_status->st_mode))
        code = error_set(err, otherwise, "'%s' is not a file", path);
    if (code && fd >= 0)
        close(fd);
    *ret_fd = code ? -1 : fd;
    return code;
}

void regular_file_open_foreign(const char *path, int *ret_fd, struct stat *ret_status)
{
    char name[64];
    int place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    *ret_fd = -1;
    if (place >= 0 && fstat(place, ret_status) == 0 && S_ISREG(ret_status->st_mode)) {
        (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
        *ret_fd = open(name, O_RDONLY | O_CLOEXEC);
    }
    if (place >= 0)
        close(place);
}
