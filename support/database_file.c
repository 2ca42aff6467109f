/* SPDX-License-Identifier: MIT */
#include "support/database_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* SQLite's file format: the magic at byte 0, PRAGMA application_id big-endian at byte 68. */
static const char magic[16] = "SQLite format 3";

enum {
    ID_OFFSET = 68,
    HEADER_BYTES = 100
};

enum database_file_owner database_file_owner(const char *path)
{
    unsigned char header[HEADER_BYTES] = {0};
    const unsigned char *id = header + ID_OFFSET;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT ? DATABASE_FILE_ABSENT : DATABASE_FILE_FOREIGN;
    n = read(fd, header, sizeof(header));
    (void)close(fd);
    if (n != HEADER_BYTES || memcmp(header, magic, sizeof(magic)) != 0)
        return DATABASE_FILE_FOREIGN;
    return ((uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3])
                   == DATABASE_FILE_APPLICATION_ID
               ? DATABASE_FILE_OURS
               : DATABASE_FILE_FOREIGN;
}
