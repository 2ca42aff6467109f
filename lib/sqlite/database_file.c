/* SPDX-License-Identifier: MIT */
#include "lib/sqlite/database_file.h"

#include "lib/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* SQLite's file format: the magic at byte 0, PRAGMA application_id big-endian at byte 68. */
static const char magic[16] = "SQLite format 3";

enum {
    ID_OFFSET = 68,
    HEADER_BYTES = 100,
    MAX_NAME_BYTES = 512 - 8 /* of SQLite's Unix VFS, which reserves space for "-journal" */
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

int database_file_check_name(const char *name, const char *opened, struct error *err)
{
    char *whole = realpath(opened, NULL);
    size_t n_bytes = whole ? strlen(whole) : 0;

    free(whole);
    if (n_bytes <= MAX_NAME_BYTES)
        return 0;
    return error_set(err, ERROR_IO,
                     "SQLite cannot open a path of more than %zu bytes; use a shorter one than "
                     "'%s'",
                     MAX_NAME_BYTES - (strlen(opened) - strlen(name)), name);
}
