/* SPDX-License-Identifier: MIT */
#include "lib/base/full_io.h"

#include <errno.h>
#include <unistd.h>

int full_io_write(int fd, const void *bytes, size_t n_bytes, uint64_t offset, size_t *ret_n)
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

int full_io_read(int fd, void *bytes, size_t n_bytes, uint64_t offset, size_t *ret_n)
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
