/* SPDX-License-Identifier: MIT */
#include "lib/base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

int file_io_write(int fd, const void *bytes, size_t n_bytes, uint64_t offset, size_t *ret_n)
{
    const uint8_t *next = bytes;
    size_t n_done = 0;
    int failure = 0;

    while (n_done < n_bytes && failure == 0) {
        ssize_t n = pwrite(fd, next + n_done, n_bytes - n_done, (off_t)(offset + n_done));
        if (n > 0)
            n_done += (size_t)n;
        else if (n == 0)
            failure = EIO; /* avoids an endless loop */
        else if (errno != EINTR)
            failure = errno;
    }
    if (ret_n)
        *ret_n = n_done;
    return failure;
}

int file_io_read(int fd, void *bytes, size_t n_bytes, uint64_t offset, size_t *ret_n)
{
    uint8_t *next = bytes;
    size_t n_done = 0;
    ssize_t n = 1;
    int failure = 0;

    while (n_done < n_bytes && n != 0 && failure == 0) {
        n = pread(fd, next + n_done, n_bytes - n_done, (off_t)(offset + n_done));
        if (n > 0)
            n_done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            failure = errno;
    }
    *ret_n = n_done;
    return failure;
}

int file_io_open_regular(const char *path, enum error_code otherwise, int *ret_fd,
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

void file_io_open_regular_foreign(const char *path, int *ret_fd, struct stat *ret_status)
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

bool file_io_link_target(const char *path, char *ret_target, size_t n_bytes)
{
    ssize_t n = readlink(path, ret_target, n_bytes - 1);

    ret_target[n > 0 ? n : 0] = '\0';
    return n > 0;
}
