/* SPDX-License-Identifier: MIT */
#include "importer/log/checkpoint_file.h"

#include "importer/log/process_logs.h"
#include "lib/base/file_io.h"
#include "lib/logfile/log_rotation.h"
#include "lib/process/output_file.h"
#include "lib/process/writer_liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory");
}

/* ---- writing ---- */

struct state_writer {
    struct output_file file;
    char *name;
    uint64_t offset;
};

static int append(struct state_writer *writer, const void *bytes, size_t n_bytes, struct error *err)
{
    int failure = file_io_write(writer->file.fd, bytes, n_bytes, writer->offset, NULL);

    writer->offset += n_bytes;
    return failure ? error_set_errno(err, failure, "cannot write '%s'", writer->name) : 0;
}

static int write_header(struct state_writer *writer, const struct log_header *header,
                        struct error *err)
{
    _Alignas(struct log_header) uint8_t page[LOG_FILE_HEADER_BYTES] = {0};
    struct log_header *file = (struct log_header *)page;

    memcpy(file, header, sizeof(*file));
    memcpy(file->magic, LOG_MAGIC, sizeof(file->magic));
    file->form = LOG_FORM_PACKED;
    file->flags |= LOG_FLAG_BOUNDED;
    return append(writer, page, sizeof(page), err);
}

int state_writer_begin(struct state_writer *writer, const struct log_header *header,
                       struct error *err)
{
    writer->offset = 0;
    return write_header(writer, header, err);
}

/* posix_fallocate is not used: it writes if the file system cannot reserve. */
bool state_writer_reserve(struct state_writer *writer, uint64_t n_bytes)
{
    return fallocate(writer->file.fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)n_bytes) == 0;
}

int state_writer_open(const char *log_path, struct state_writer **ret, struct error *err)
{
    struct state_writer *writer = calloc(1, sizeof(*writer));
    int code;

    if (!writer)
        return out_of_memory(err);
    writer->file.fd = -1;
    writer->name = log_rotation_state_name(log_path);
    code = writer->name ? output_file_open(&writer->file, writer->name, true, 0600, err)
                        : out_of_memory(err);
    if (code) {
        state_writer_close(writer);
        return code;
    }
    *ret = writer;
    return 0;
}

static int put(void *context, const void *chunk, size_t n_bytes, struct error *err)
{
    return append(context, chunk, n_bytes, err);
}

struct checkpoint_io_sink state_writer_sink(struct state_writer *writer)
{
    return (struct checkpoint_io_sink){.put = put, .context = writer};
}

/* Data of an older checkpoint may follow the end. Only a far larger file is cut, because truncation
 * also frees the reserved space. */
static int cut_far_behind(const struct state_writer *writer)
{
    uint64_t most = writer->offset + writer->offset / 2;
    struct stat status;

    if (fstat(writer->file.fd, &status) != 0)
        return errno;
    return (uint64_t)status.st_size > 2 * most && ftruncate(writer->file.fd, (off_t)most) != 0
               ? errno
               : 0;
}

int state_writer_commit(struct state_writer *writer, bool *ret_has_old, struct error *err)
{
    int failure = cut_far_behind(writer);

    if (!failure)
        failure = file_io_write(writer->file.fd, &writer->offset, sizeof(writer->offset),
                                LOG_ROTATION_STATE_END_AT, NULL);
    *ret_has_old = false;
    if (failure)
        return error_set_errno(err, failure, "cannot write '%s'", writer->name);
    return output_file_swap(&writer->file, ret_has_old, err);
}

uint64_t state_writer_bytes(const struct state_writer *writer)
{
    return writer->offset;
}

void state_writer_close(struct state_writer *writer)
{
    if (!writer)
        return;
    output_file_close(&writer->file);
    free(writer->name);
    free(writer);
}

/* ---- reading ---- */

struct state_reader {
    int fd;
    char *name;
    uint64_t offset;
    uint64_t chunk[CHECKPOINT_CHUNK_BYTES / sizeof(uint64_t)];
};

static bool read_header(int fd, struct log_header *ret)
{
    size_t n;

    return file_io_read(fd, ret, sizeof(*ret), 0, &n) == 0 && n == sizeof(*ret)
           && memcmp(ret->magic, LOG_MAGIC, sizeof(ret->magic)) == 0;
}

/* A file beside a log that is not bounded is not a checkpoint, whatever its name is. */
static bool is_bounded(const char *log_path, uint64_t *ret_run_id)
{
    int fd = writer_liveness_open(log_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct log_header file;
    bool is_it = fd >= 0 && read_header(fd, &file) && (file.flags & LOG_FLAG_BOUNDED);

    if (fd >= 0)
        close(fd);
    *ret_run_id = is_it ? file.run_id : 0;
    return is_it;
}

int checkpoint_file_is_bounded(const char *path, bool *ret, struct error *err)
{
    char *packed_path = process_logs_packed_path(path);
    uint64_t run_id;

    if (!packed_path)
        return out_of_memory(err);
    *ret = is_bounded(packed_path, &run_id);
    free(packed_path);
    return 0;
}

/* SF-2 */
static int open_state(struct state_reader *reader, const char *log_path, bool *ret_is_there,
                      struct error *err)
{
    struct log_header header;
    struct stat status;
    uint64_t run_id;

    *ret_is_there = false;
    if (!is_bounded(log_path, &run_id))
        return 0;
    reader->fd = open(reader->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (reader->fd < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, errno, "cannot open '%s'", reader->name);
    if (fstat(reader->fd, &status) != 0)
        return error_set_errno(err, errno, "cannot read '%s'", reader->name);
    if (!S_ISREG(status.st_mode) || !read_header(reader->fd, &header))
        return error_set(err, ERROR_FORMAT, "'%s' is not a checkpoint of a log", reader->name);
    *ret_is_there = header.run_id == run_id;
    return 0;
}

int state_reader_open(const char *path, struct state_reader **ret, struct error *err)
{
    struct state_reader *reader = calloc(1, sizeof(*reader));
    char *packed_path = process_logs_packed_path(path);
    bool is_there = false;
    int code;

    *ret = NULL;
    if (!reader || !packed_path) {
        free(reader);
        free(packed_path);
        return out_of_memory(err);
    }
    reader->fd = -1;
    reader->offset = LOG_FILE_HEADER_BYTES;
    reader->name = log_rotation_state_name(packed_path);
    code = reader->name ? open_state(reader, packed_path, &is_there, err) : out_of_memory(err);
    free(packed_path);
    if (code == 0 && is_there)
        *ret = reader;
    else
        state_reader_close(reader);
    return code;
}

/* checkpoint_io checks what is read. */
static int next(void *context, const void **ret_chunk, size_t *ret_bytes, struct error *err)
{
    struct state_reader *reader = context;
    const struct checkpoint_io_chunk *head = (const void *)reader->chunk;
    size_t n = 0;
    int failure =
        file_io_read(reader->fd, reader->chunk, sizeof(reader->chunk), reader->offset, &n);

    if (failure)
        return error_set_errno(err, failure, "cannot read '%s'", reader->name);
    if (n > sizeof(*head) && head->stored_bytes < n - sizeof(*head))
        n = sizeof(*head) + head->stored_bytes;
    reader->offset += n;
    *ret_chunk = reader->chunk;
    *ret_bytes = n;
    return 0;
}

struct checkpoint_io_source state_reader_source(struct state_reader *reader)
{
    return (struct checkpoint_io_source){.next = next, .context = reader};
}

void state_reader_close(struct state_reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->name);
    free(reader);
}
