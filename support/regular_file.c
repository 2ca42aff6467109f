/* SPDX-License-Identifier: MIT */
#include "support/regular_file.h"

#include <errno.h>
#include <fcntl.h>
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
