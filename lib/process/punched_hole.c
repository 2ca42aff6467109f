/* SPDX-License-Identifier: MIT */
#include "lib/process/punched_hole.h"

#include "lib/base/full_io.h"

#include <string.h>
#include <xxhash.h>

static uint64_t checksum(const struct log_punched_hole *mark)
{
    return XXH64(mark, offsetof(struct log_punched_hole, checksum), 0);
}

uint64_t punched_hole_parse(const void *bytes, size_t n_bytes)
{
    struct log_punched_hole mark;

    if (n_bytes < sizeof(mark))
        return 0;
    memcpy(&mark, bytes, sizeof(mark));
    return memcmp(mark.magic, LOG_PUNCHED_HOLE_MAGIC, sizeof(mark.magic)) == 0
                   && mark.checksum == checksum(&mark)
                   && mark.until >= LOG_FILE_HEADER_BYTES + sizeof(mark)
               ? mark.until
               : 0;
}

uint64_t punched_hole_read(int fd)
{
    struct log_punched_hole mark;
    size_t n = 0;

    return full_io_read(fd, &mark, sizeof(mark), LOG_FILE_HEADER_BYTES, &n) == 0
               ? punched_hole_parse(&mark, n)
               : 0;
}

int punched_hole_mark(int fd, uint64_t until)
{
    struct log_punched_hole mark = {.until = until};

    memcpy(mark.magic, LOG_PUNCHED_HOLE_MAGIC, sizeof(mark.magic));
    mark.checksum = checksum(&mark);
    return full_io_write(fd, &mark, sizeof(mark), LOG_FILE_HEADER_BYTES, NULL);
}
