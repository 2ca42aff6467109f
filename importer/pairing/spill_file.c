/* SPDX-License-Identifier: MIT */
#include "importer/pairing/spill_file.h"

#include "lib/base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Some file systems lack O_TMPFILE: there the file is unlinked immediately. */
static int open_nameless(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char *name = NULL;

    if (fd >= 0)
        return fd;
    if (asprintf(&name, "%s/.mtrace-import-XXXXXX", folder) < 0)
        return -1;
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    int saved = errno;
    free(name);
    errno = saved;
    return fd;
}

int spill_file_open(struct spill_file *file, const char *beside, struct error *err)
{
    char *path = strdup(beside);

    *file = (struct spill_file){.fd = -1};
    file->buffer = malloc(SPILL_FILE_BUFFER_BYTES);
    file->folder = path ? strdup(dirname(path)) : NULL;
    free(path);
    if (!file->buffer || !file->folder)
        return error_set(err, ERROR_NOMEM, "out of memory");
    file->fd = open_nameless(file->folder);
    if (file->fd < 0)
        return error_set_errno(err, errno, "cannot write a temporary file in '%s'", file->folder);
    return 0;
}

void spill_file_done(struct spill_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    free(file->buffer);
    free(file->folder);
    *file = (struct spill_file){.fd = -1};
}

int spill_file_flush(struct spill_file *file, struct error *err)
{
    int failure = file_io_write(file->fd, file->buffer, file->n_buffered,
                                file->size_bytes - file->n_buffered, NULL);

    if (failure)
        return error_set_errno(err, failure, "cannot write a temporary file in '%s'", file->folder);
    file->n_buffered = 0;
    return 0;
}

int spill_file_append(struct spill_file *file, const void *bytes, size_t n_bytes, struct error *err)
{
    if (file->n_buffered + n_bytes > SPILL_FILE_BUFFER_BYTES) {
        int code = spill_file_flush(file, err);
        if (code)
            return code;
    }
    memcpy(file->buffer + file->n_buffered, bytes, n_bytes);
    file->n_buffered += n_bytes;
    file->size_bytes += n_bytes;
    return 0;
}

int spill_file_read(const struct spill_file *file, uint64_t offset, void *bytes, size_t n_bytes,
                    size_t *ret_read, struct error *err)
{
    int failure = file_io_read(file->fd, bytes, n_bytes, offset, ret_read);

    return failure
               ? error_set_errno(err, failure, "cannot read a temporary file in '%s'", file->folder)
               : 0;
}
