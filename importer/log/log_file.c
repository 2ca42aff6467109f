/* SPDX-License-Identifier: MIT */
#include "importer/log/log_file.h"

#include "lib/base/file_io.h"
#include "lib/logfile/log_header.h"
#include "lib/process/writer_liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- damage ---- */

void log_damage_add(struct log_damage_report *report, enum log_damage_kind kind, const char *path,
                    uint64_t offset, uint64_t bytes, const char *what)
{
    report->count[kind]++;
    report->lost_bytes += bytes;
    if (report->n_kept < LOG_DAMAGE_KEPT) {
        report->kept[report->n_kept++] = (struct log_damage){
            .kind = kind, .path = path, .offset = offset, .bytes = bytes, .what = what};
    }
}

const char *log_damage_name(enum log_damage_kind kind)
{
    static const char *const names[LOG_DAMAGE_KINDS] = {
        [LOG_DAMAGE_TRUNCATED] = "truncated",
        [LOG_DAMAGE_CHECKSUM] = "checksum",
        [LOG_DAMAGE_HEADER] = "header",
        [LOG_DAMAGE_RECORD] = "record",
        [LOG_DAMAGE_UNKNOWN] = "unknown",
        [LOG_DAMAGE_NODE] = "node",
        [LOG_DAMAGE_TIME] = "time",
        [LOG_DAMAGE_MISSING_CHILD] = "missing_child",
        [LOG_DAMAGE_MISSING_PART] = "missing_part",
    };
    return names[kind];
}

/* ---- one file ---- */

enum {
    BYTEHOUND_FRAMES = 4,
    BYTEHOUND_MAX_BYTES = 1 << 20, /* of a frame, compressed */
    SNIFF_BYTES = 64
};

int log_file_read_at(struct log_file_reader *file, void *bytes, size_t n_bytes, uint64_t offset,
                     size_t *ret_n, struct error *err)
{
    int fd = file->fd >= 0 ? file->fd : open(file->path, O_RDONLY | O_CLOEXEC);
    int failure;

    *ret_n = 0;
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", file->path);
    failure = file_io_read(fd, bytes, n_bytes, offset, ret_n);
    if (fd != file->fd)
        close(fd);
    return failure ? error_set_errno(err, failure, "cannot read '%s'", file->path) : 0;
}

int log_file_refresh(struct log_file_reader *file, struct error *err)
{
    struct stat status;

    if ((file->fd >= 0 ? fstat(file->fd, &status) : stat(file->path, &status)) != 0)
        return error_set_errno(err, errno, "cannot read '%s'", file->path);
    file->size_bytes = (uint64_t)status.st_size;
    return 0;
}

void log_file_close_fd(struct log_file_reader *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

static bool is_text(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < ' ' && c != '\n' && c != '\t' && c != '\r')
            return false;
    }
    return true;
}

static bool begins_with(const char *bytes, size_t n, const char *prefix, size_t n_prefix)
{
    return n >= n_prefix && memcmp(bytes, prefix, n_prefix) == 0;
}

/* bytehound's recordings have no magic. They are frames: a kind (1 compressed, 2 raw), a length of
 * 4 bytes, and so many bytes. The first frames must lead from one to the next. */
static bool is_bytehound(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned char head[5];
    int n_frames = 0;

    while (file && n_frames < BYTEHOUND_FRAMES && fread(head, sizeof(head), 1, file) == 1) {
        uint32_t length = (uint32_t)head[1] | (uint32_t)head[2] << 8 | (uint32_t)head[3] << 16
                          | (uint32_t)head[4] << 24;

        if (head[0] < 1 || head[0] > 2 || length == 0 || length > BYTEHOUND_MAX_BYTES) {
            n_frames = 0;
            break;
        }
        if (fseek(file, (long)length - 1, SEEK_CUR) != 0 || getc(file) == EOF)
            break; /* cut */
        n_frames++;
    }
    if (file)
        (void)fclose(file);
    return n_frames > 0;
}

/* The magic is wrong: reports what the file is. */
static int refuse(const char *path, const char *bytes, size_t n, struct error *err)
{
    unsigned version;
    static const char zeros[SNIFF_BYTES];

    if (begins_with(bytes, n, "SQLite format 3", 16))
        return error_set(err, ERROR_FORMAT,
                         "'%s' is a database, not a log; open it with mtrace-query", path);
    if (begins_with(bytes, n, "mtrace", 6))
        return error_set(err, ERROR_FORMAT,
                         "'%s' was changed by a transfer in text mode; copy it in binary mode",
                         path);
    if (begins_with(bytes, n, "\x28\xb5\x2f\xfd", 4) || begins_with(bytes, n, "\x1f\x8b", 2))
        return error_set(err, ERROR_FORMAT,
                         "'%s' is a compressed file, not a log; decompress it first", path);
    if (begins_with(bytes, n,
                    "\x7f"
                    "ELF",
                    4))
        return error_set(err, ERROR_FORMAT,
                         "'%s' is a program, not a log; record it with mtrace-record", path);
    if (is_text(bytes, n) && sscanf(bytes, "v %x ", &version) == 1)
        return error_set(err, ERROR_FORMAT, "'%s' is a heaptrack recording, not a log", path);
    if (is_text(bytes, n))
        return error_set(err, ERROR_FORMAT, "'%s' is text, not a log", path);
    if (is_bytehound(path))
        return error_set(err, ERROR_FORMAT,
                         "'%s' is a bytehound recording, which cannot be imported; record the"
                         " program with mtrace-record",
                         path);
    if (begins_with(zeros, sizeof(zeros), bytes, n))
        return error_set_offset(err, ERROR_FORMAT, 0,
                                "'%s' has no header; its program ended before it was written",
                                path);
    return error_set_offset(err, ERROR_FORMAT, 0, "'%s' is not a log of mtrace", path);
}

static int check_range(const struct log_file_reader *file, const char *name, uint32_t value,
                       uint32_t low, uint32_t high, size_t offset, struct error *err)
{
    if (value >= low && value <= high)
        return 0;
    return error_set_offset(err, ERROR_FORMAT, (int64_t)offset,
                            "'%s' has a damaged header: %s is %" PRIu32, file->path, name, value);
}

static int check_header(const struct log_file_reader *file, struct error *err)
{
    const struct log_header *header = &file->header;
    int r = log_header_check(header, file->path, err);

    if (r == 0)
        r = check_range(file, "form", header->form, LOG_FORM_RAW, LOG_FORM_PACKED,
                        offsetof(struct log_header, form), err);
    if (r == 0)
        r = check_range(file, "segment size", header->segment_bytes, LOG_SEGMENT_BYTES,
                        LOG_SEGMENT_BYTES, offsetof(struct log_header, segment_bytes), err);
    if (r == 0 && header->clock == 0 && header->start_ticks == 0)
        return error_set(err, ERROR_FORMAT, "'%s' is empty: its program has not begun to record",
                         file->path);
    if (r == 0)
        r = check_range(file, "clock", header->clock, LOG_CLOCK_MONOTONIC, LOG_CLOCK_TSC,
                        offsetof(struct log_header, clock), err);
    return r;
}

static int read_header(struct log_file_reader *file, struct error *err)
{
    size_t n;
    int r = log_file_read_at(file, &file->header, sizeof(file->header), 0, &n, err);

    if (r != 0)
        return r;
    if (n == 0)
        return error_set(err, ERROR_FORMAT, "'%s' is empty", file->path);
    if (!begins_with(file->header.magic, n, LOG_MAGIC, sizeof(file->header.magic)))
        return refuse(file->path, file->header.magic, n < SNIFF_BYTES ? n : SNIFF_BYTES, err);
    if (n < sizeof(file->header))
        return error_set_offset(err, ERROR_FORMAT, (int64_t)n, "'%s' ends inside its header",
                                file->path);
    return check_header(file, err);
}

static int open_regular(struct log_file_reader *file, struct error *err)
{
    struct stat status;

    file->fd = writer_liveness_open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", file->path);
    if (fstat(file->fd, &status) != 0)
        return error_set_errno(err, errno, "cannot read '%s'", file->path);
    if (S_ISDIR(status.st_mode))
        return error_set(err, ERROR_FORMAT, "'%s' is a directory; name the log inside it",
                         file->path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_FORMAT, "'%s' is not a regular file; copy the log into one",
                         file->path);
    file->size_bytes = (uint64_t)status.st_size;
    return read_header(file, err);
}

int log_file_open(const char *path, struct text_arena *arena, struct log_file_reader **ret,
                  struct error *err)
{
    struct log_file_reader *file = calloc(1, sizeof(*file));
    int r;

    if (!file)
        return error_set(err, ERROR_NOMEM, "out of memory");
    file->fd = -1;
    file->path = text_arena_copy(arena, path, strlen(path));
    r = file->path ? open_regular(file, err) : error_set(err, ERROR_NOMEM, "out of memory");
    if (r != 0) {
        log_file_close(file);
        return r;
    }
    *ret = file;
    return 0;
}

void log_file_close(struct log_file_reader *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    free(file->samples);
    free(file);
}

/* The missing end of a raw payload in a cut file reads as zeros. */
static int read_raw(struct log_file_reader *file, const struct log_segment_ref *ref, void *payload,
                    struct error *err)
{
    struct log_segment now;
    size_t n;
    int r = log_file_read_at(file, payload, ref->raw_bytes, ref->offset + LOG_SEGMENT_HEADER_BYTES,
                             &n, err);

    if (r != 0)
        return r;
    memset((char *)payload + n, 0, ref->raw_bytes - n);
    /* The recorder may have recycled the segment since it was listed: SG-7 of
     * collector/log/segment.h. Acquire: the payload was read before. */
    atomic_thread_fence(memory_order_acquire);
    r = log_file_read_at(file, &now, sizeof(now), ref->offset, &n, err);
    if (r == 0 && n == sizeof(now) && now.sequence != ref->sequence)
        return error_set_offset(err, ERROR_FORMAT, (int64_t)ref->offset,
                                "'%s' recycled a segment while it was read", file->path);
    return r;
}

static int read_frame(struct log_file_reader *file, uint64_t offset, struct pack *pack,
                      struct log_frame *ret_frame, void *payload, struct error *err)
{
    static _Thread_local uint64_t stored[PACK_PAYLOAD_MAX_BYTES / sizeof(uint64_t)];
    size_t n;
    int r = log_file_read_at(file, ret_frame, sizeof(*ret_frame), offset, &n, err);

    if (r == 0 && n < sizeof(*ret_frame))
        return error_set_offset(err, ERROR_FORMAT, (int64_t)offset, "'%s' is cut", file->path);
    if (r == 0)
        r = pack_check_header(ret_frame, (int64_t)offset, err);
    if (r == 0)
        r = log_file_read_at(file, stored, ret_frame->payload_bytes, offset + sizeof(*ret_frame),
                             &n, err);
    if (r == 0 && n < ret_frame->payload_bytes)
        return error_set_offset(err, ERROR_FORMAT, (int64_t)offset, "'%s' is cut", file->path);
    return r != 0 ? r : pack_unpack(pack, ret_frame, stored, (int64_t)offset, payload, err);
}

int log_file_read(struct log_file_reader *file, const struct log_segment_ref *ref,
                  struct pack *pack, void *payload, struct error *err)
{
    struct log_frame frame;
    int r;

    if (!ref->is_packed)
        return read_raw(file, ref, payload, err);
    r = read_frame(file, ref->offset, pack, &frame, payload, err);
    if (r == 0 && (frame.raw_bytes & ~7u) != ref->raw_bytes)
        return error_set_offset(err, ERROR_FORMAT, (int64_t)ref->offset,
                                "'%s' changed while it was read", file->path);
    return r;
}

int log_file_read_samples(struct log_file_reader *file, uint64_t offset, struct pack *pack,
                          struct log_sample *samples, size_t *ret_n, struct error *err)
{
    struct log_frame frame;
    int r = read_frame(file, offset, pack, &frame, samples, err);

    if (r == 0)
        *ret_n = frame.raw_bytes / sizeof(*samples);
    return r;
}

static enum writer_liveness_state look(
    const struct log_file_reader *file,
    enum writer_liveness_state (*ask)(const struct log_header *header, int fd))
{
    int fd = file->fd >= 0 ? file->fd
                           : writer_liveness_open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum writer_liveness_state state = ask(&file->header, fd);

    if (file->fd < 0 && fd >= 0)
        close(fd);
    return state;
}

static bool is_there(const struct log_file_reader *file)
{
    return file->header.form == LOG_FORM_RAW && access(file->path, F_OK) == 0;
}

bool log_file_is_live(const struct log_file_reader *file)
{
    return is_there(file) && look(file, writer_liveness_of_writer) != WRITER_LIVENESS_DEAD;
}

bool log_file_may_be_recorded(const struct log_file_reader *file)
{
    return is_there(file) && look(file, writer_liveness_of_recorder) != WRITER_LIVENESS_DEAD;
}

bool log_file_is_locked(const struct log_file_reader *file)
{
    return file->header.form == LOG_FORM_PACKED && file_lock_is_taken(file->path);
}
