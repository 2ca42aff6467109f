/* SPDX-License-Identifier: MIT */
#include "lib/logfile/live_log.h"

#include "lib/abi/file_systems.h"
#include "lib/abi/invariant.h"
#include "lib/base/fault_point.h"
#include "lib/base/file_io.h"
#include "lib/logfile/log_header.h"
#include "lib/process/writer_liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static size_t file_bytes(uint32_t n_segments)
{
    return LOG_FILE_HEADER_BYTES + (size_t)n_segments * LOG_SEGMENT_BYTES;
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Uses fallocate, or writes zeros where the file system lacks it. */
static int reserve(int fd, size_t n_bytes)
{
    static const char zeros[LOG_SEGMENT_BYTES];

    if (fallocate(fd, 0, 0, (off_t)n_bytes) == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    for (size_t done = 0; done < n_bytes;) {
        size_t n = n_bytes - done < sizeof(zeros) ? n_bytes - done : sizeof(zeros);
        ssize_t written = pwrite(fd, zeros, n, (off_t)done);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0)
            done += (size_t)written;
    }
    return 0;
}

static void fill_header(struct live_log *log, uint64_t run_id, uint32_t n_segments, uint32_t flags)
{
    struct log_header *file = log->file;

    MTRACE_ASSERT(file);
    file->version = LOG_VERSION;
    file->form = LOG_FORM_RAW;
    log_file_set_machine(file); /* until the program fills in its machine */
    file->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
    file->segment_bytes = LOG_SEGMENT_BYTES;
    file->run_id = run_id;
    file->flags = flags;
    atomic_store_explicit(&file->next_sequence, 1, memory_order_relaxed);
    atomic_store_explicit(&file->recorder_pid, (uint32_t)getpid(), memory_order_relaxed);
    atomic_store_explicit(&file->n_segments, n_segments, memory_order_release);
    memcpy(file->magic, LOG_MAGIC, sizeof(file->magic));
}

static bool copies_on_write(int fd)
{
    struct statfs status;

    return fstatfs(fd, &status) == 0 && file_systems_copies_on_write((uint64_t)status.f_type);
}

static int create_at(const char *path, uint32_t n_segments, bool must_keep, struct live_log *log)
{
    int failure = 0;

    log->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (log->fd < 0)
        return errno;
    if (must_keep && copies_on_write(log->fd)) {
        log->weakness = "the file system copies on write, and a full disk would end the program";
        failure = EOPNOTSUPP;
    }
    if (failure == 0)
        failure = reserve(log->fd, file_bytes(n_segments));
    if (failure == 0)
        failure = guarded_map_open(&log->map, log->fd, file_bytes(n_segments), MAP_SHARED);
    if (failure == 0) {
        log->file = log->map.start;
        (void)madvise(log->file, log->map.n_bytes, MADV_RANDOM); /* see map_header */
        return 0;
    }
    unlink(path);
    close(log->fd);
    log->fd = -1;
    return failure;
}

/* Failures that /dev/shm does not have: no shared mapping, no reservation, or an unreliable one. */
static bool may_go_elsewhere(int failure)
{
    return failure == ENODEV || failure == EINVAL || failure == EOPNOTSUPP || failure == ENOSYS;
}

static int create_elsewhere(const char *path, uint64_t run_id, uint32_t n_segments,
                            struct live_log *log)
{
    char *wanted = log->path;
    int failure;

    if (asprintf(&log->path, FILE_SYSTEMS_MEMORY_PREFIX "%016" PRIx64 ".live", run_id) < 0) {
        log->path = wanted;
        return ENOMEM;
    }
    failure = create_at(log->path, n_segments, false, log);
    if (failure) {
        free(log->path);
        log->path = wanted;
    } else if (symlink(log->path, path) == 0) {
        log->link_path = wanted;
    } else {
        free(wanted);
    }
    return failure;
}

static int create_somewhere(const char *path, uint64_t run_id, uint32_t n_segments,
                            struct live_log *log)
{
    int failure = create_at(path, n_segments, true, log);

    if (!may_go_elsewhere(failure))
        return failure;
    if (!log->weakness)
        log->weakness = "files cannot be mapped";
    failure = create_elsewhere(path, run_id, n_segments, log);
    return failure ? create_at(path, n_segments, false, log) : 0;
}

/* Halves the size while there is no space: events that do not fit are dropped and counted, but the
 * program runs. */
static int create_that_fits(const char *path, uint64_t run_id, uint32_t *n_segments,
                            struct live_log *log)
{
    int failure = create_somewhere(path, run_id, *n_segments, log);

    while (error_means_disk_full(failure) && *n_segments > 1) {
        *n_segments /= 2;
        failure = create_somewhere(path, run_id, *n_segments, log);
    }
    return failure;
}

int live_log_create(const char *path, uint64_t run_id, uint32_t n_segments,
                    struct live_log *ret_log, struct error *err)
{
    struct live_log *log = ret_log;
    int failure;

    *log = (struct live_log){.fd = -1, .path = strdup(path), .max_segments = LOG_MAX_SEGMENTS};
    failure = log->path ? create_that_fits(path, run_id, &n_segments, log) : ENOMEM;
    if (failure) {
        live_log_close(log);
        return error_set_errno(err, failure, "cannot make the live log '%s' of %zu KiB", path,
                               file_bytes(n_segments) / 1024);
    }
    log->n_mapped = log->n_unprepared = n_segments;
    fill_header(log, run_id, n_segments, log->weakness ? LOG_FLAG_WEAK : 0);
    log->seen.run_id = run_id;
    live_log_prepare(log, LIVE_LOG_FIRST_SEGMENTS);
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int check_header(const struct log_header *file, const char *path, struct error *err)
{
    if (!log_header_is_ours(file))
        return error_set(err, ERROR_FORMAT, "'%s' is not a log of mtrace", path);
    int code = log_header_check(file, path, err);

    if (code)
        return code;
    if (file->form != LOG_FORM_RAW || file->segment_bytes != LOG_SEGMENT_BYTES)
        return error_set(err, ERROR_FORMAT, "'%s' is not a raw log", path);
    return 0;
}

static int map_header(struct live_log *log, bool is_shared, struct error *err)
{
    struct stat status;
    int failure;

    if (fstat(log->fd, &status) != 0)
        return error_set_errno(err, errno, "cannot open '%s'", log->path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_FORMAT, "'%s' is not a file", log->path);
    if (status.st_size < LOG_FILE_HEADER_BYTES)
        return error_set(err, ERROR_FORMAT, "'%s' is too short for a log", log->path);
    /* MAP_NORESERVE: a private view of a large log must not reserve memory of its size */
    failure = guarded_map_open(&log->map, log->fd, LOG_FILE_HEADER_BYTES,
                               is_shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE);
    if (failure)
        return error_set_errno(err, failure, "cannot map '%s'", log->path);
    log->file = log->map.start;
    if (is_shared) /* in memory: our reads must not fill the holes of a large file */
        (void)madvise(log->file, LOG_FILE_HEADER_BYTES, MADV_RANDOM);
    return 0;
}

/* The target of a link made by others must not be deleted. */
char *live_log_follow(const char *path)
{
    char target[PATH_MAX];
    const size_t n_prefix = sizeof(FILE_SYSTEMS_MEMORY_PREFIX) - 1;

    if (!file_io_link_target(path, target, sizeof(target))
        || strncmp(target, FILE_SYSTEMS_MEMORY_PREFIX, n_prefix) != 0
        || strchr(target + n_prefix, '/'))
        return NULL;
    return strdup(target);
}

int live_log_open(const char *path, bool is_shared, struct live_log *ret_log, struct error *err)
{
    struct live_log *log = ret_log;
    char *target;
    int failure;
    int code;

    *log = (struct live_log){
        .fd = writer_liveness_open(path, (is_shared ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK),
        .max_segments = LOG_MAX_SEGMENTS};
    failure = log->fd < 0 ? errno : ENOMEM;
    log->path = strdup(path);
    target = live_log_follow(path);
    if (target) {
        log->link_path = log->path;
        log->path = target;
    }
    if (log->fd < 0 || !log->path)
        code = error_set_errno(err, failure, "cannot open '%s'", path);
    else
        code = map_header(log, is_shared, err);
    if (code == 0) {
        memcpy(&log->seen, log->file, sizeof(log->seen));
        code = check_header(&log->seen, path, err);
    }
    if (code == 0 && !live_log_refresh(log))
        code = error_set_errno(err, errno, "cannot map '%s'", path);
    if (code)
        live_log_close(log);
    return code;
}

void live_log_limit(struct live_log *log, uint64_t max_bytes)
{
    uint64_t n = max_bytes / LOG_SEGMENT_BYTES;

    if (n < LIVE_LOG_POOL_SEGMENTS)
        n = LIVE_LOG_POOL_SEGMENTS;
    if (n < log->max_segments)
        log->max_segments = (uint32_t)n;
    if (log->n_mapped > log->max_segments)
        log->n_mapped = log->max_segments;
}

void live_log_close(struct live_log *log)
{
    guarded_map_close(&log->map);
    if (log->fd >= 0)
        close(log->fd);
    free(log->path);
    free(log->link_path);
    *log = (struct live_log){.fd = -1};
}

void live_log_remove(const struct live_log *log)
{
    unlink(log->path);
    if (log->link_path)
        unlink(log->link_path);
}

int live_log_rename(struct live_log *log, const char *path, struct error *err)
{
    char **name = log->link_path ? &log->link_path : &log->path;
    char *copy = strdup(path);

    if (!copy)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    if (rename(*name, path) != 0) {
        free(copy);
        return error_set_errno(err, errno, "cannot make '%s'", path);
    }
    free(*name);
    *name = copy;
    return 0;
}

bool live_log_is_cut(const struct live_log *log)
{
    return log->map.whole_bytes < log->map.n_bytes;
}

/* Number of segments in the file, at most those announced. */
static bool count_segments(const struct live_log *log, uint32_t n_announced, uint32_t *ret_n)
{
    struct stat status;
    uint64_t n_in_file;

    if (fstat(log->fd, &status) != 0 || status.st_size < LOG_FILE_HEADER_BYTES)
        return false;
    n_in_file = ((uint64_t)status.st_size - LOG_FILE_HEADER_BYTES) / LOG_SEGMENT_BYTES;
    *ret_n = n_announced < n_in_file ? n_announced : (uint32_t)n_in_file;
    return true;
}

bool live_log_refresh(struct live_log *log)
{
    uint32_t n = atomic_load_explicit(&log->file->n_segments, memory_order_acquire);

    if (n > log->max_segments)
        n = log->max_segments;
    if (n <= log->n_mapped || live_log_is_cut(log))
        return true;
    if (!count_segments(log, n, &n))
        return false;
    if (n <= log->n_mapped)
        return true;
    if (guarded_map_grow(&log->map, file_bytes(n)) != 0)
        return false;
    log->file = log->map.start;
    log->n_mapped = n;
    return true;
}

/* ---- header page ----------------------------------------------------------------------------- */

struct log_mailbox *live_log_mailbox(const struct live_log *log)
{
    return log_mailbox_of(log->file);
}

struct log_packing *live_log_packing(const struct live_log *log)
{
    return (struct log_packing *)(void *)((unsigned char *)log->file + LOG_PACKING_OFFSET);
}

/* ---- segments -------------------------------------------------------------------------------- */

struct log_segment *live_log_segment(const struct live_log *log, uint32_t index)
{
    uint8_t *bytes = (uint8_t *)log->file + file_bytes(index);

    return (struct log_segment *)(void *)bytes;
}

const void *live_log_payload(const struct log_segment *segment)
{
    return (const uint8_t *)segment + LOG_SEGMENT_HEADER_BYTES;
}

uint32_t live_log_readable_bytes(const struct log_segment *segment)
{
    uint32_t n_bytes = LOG_SEGMENT_PAYLOAD_BYTES;
    uint32_t unit = 1;

    switch (segment->kind) { /* read once: the program may change it */
    case LOG_SEGMENT_EVENTS:
        n_bytes = atomic_load_explicit(&segment->committed_bytes, memory_order_acquire);
        unit = sizeof(uint64_t);
        break;
    case LOG_SEGMENT_FALLBACK:
        n_bytes = atomic_load_explicit(&segment->reserved_bytes, memory_order_acquire);
        unit = sizeof(struct log_fallback_record);
        break;
    case LOG_SEGMENT_DEFS:
        n_bytes = atomic_load_explicit(&segment->reserved_bytes, memory_order_acquire);
        unit = LOG_DEF_ALIGN;
        break;
    case LOG_SEGMENT_NODES:
        unit = sizeof(struct log_node);
        break;
    default:
        return 0;
    }
    if (n_bytes > LOG_SEGMENT_PAYLOAD_BYTES)
        n_bytes = LOG_SEGMENT_PAYLOAD_BYTES;
    return n_bytes / unit * unit;
}

bool live_log_is_used(const struct live_log *log, const struct log_segment *segment)
{
    uint32_t state = atomic_load_explicit(&segment->state, memory_order_acquire);

    return (state == LOG_STATE_FILLING || state == LOG_STATE_SEALED) && segment->sequence != 0
           && segment->run_id == log->seen.run_id;
}

uint32_t live_log_next_used(const struct live_log *log, uint32_t from)
{
    uint32_t i = from > log->n_unprepared ? from : log->n_unprepared;

    while (i < log->n_mapped && !live_log_is_used(log, live_log_segment(log, i)))
        i++;
    return i;
}

uint32_t live_log_copy_segment(const struct live_log *log, uint32_t index, uint64_t sequence,
                               struct log_segment *ret_segment, void *ret_payload)
{
    const struct log_segment *segment = live_log_segment(log, index);
    uint32_t n_bytes;

    /* acquire: what the state and the length say was written is there */
    (void)atomic_load_explicit(&segment->state, memory_order_acquire);
    n_bytes = live_log_readable_bytes(segment);
    memcpy(ret_segment, segment, sizeof(*segment));
    if (ret_segment->sequence != sequence || !live_log_is_used(log, ret_segment))
        return 0;
    memcpy(ret_payload, live_log_payload(segment), n_bytes);
    return file_bytes(index + 1) > log->map.whole_bytes ? 0 : n_bytes;
}

void live_log_take_sealed(struct live_log *log, live_log_see *see, void *context)
{
    uint64_t head;
    uint32_t link;
    uint32_t n = 0;

    if ((uint32_t)atomic_load_explicit(&log->file->sealed_stack, memory_order_relaxed) == 0)
        return;
    /* acquire: pairs with the collector's push, which releases the link and the segment */
    head = atomic_exchange_explicit(&log->file->sealed_stack, 0, memory_order_acquire);
    fault_point("unlinked");
    live_log_refresh(log);
    for (link = (uint32_t)head; link != 0 && link <= log->n_mapped && n < log->n_mapped; n++) {
        if (!see(context, link - 1))
            return;
        link = atomic_load_explicit(&live_log_segment(log, link - 1)->next, memory_order_relaxed);
    }
}

static void push_free(struct live_log *log, uint32_t index)
{
    struct log_segment *segment = live_log_segment(log, index);
    uint64_t head = atomic_load_explicit(&log->file->free_stack, memory_order_relaxed);
    uint64_t next_tag;

    do {
        atomic_store_explicit(&segment->next, (uint32_t)head, memory_order_relaxed);
        next_tag = ((head >> 32) + 1) << 32;
        /* release: pairs with the collector's pop, which reads the link */
    } while (!atomic_compare_exchange_weak_explicit(&log->file->free_stack, &head,
                                                    next_tag | (index + 1), memory_order_release,
                                                    memory_order_relaxed));
}

void live_log_recycle(struct live_log *log, uint32_t index)
{
    atomic_store_explicit(&live_log_segment(log, index)->state, LOG_STATE_FREE,
                          memory_order_release);
    fault_point("freed");
    push_free(log, index);
}

void live_log_prepare(struct live_log *log, uint32_t n)
{
    for (; n > 0 && log->n_unprepared > 0; n--) {
        uint32_t index = --log->n_unprepared;
        live_log_segment(log, index)->index = index;
        push_free(log, index);
    }
}

/* The collector fills in the header before it takes its first segment: until then the header may be
 * incomplete. */
static bool is_begun(const struct live_log *log)
{
    return atomic_load_explicit(&log->file->next_sequence, memory_order_acquire) > 1;
}

void live_log_read_header(struct live_log *log)
{
    const size_t constant_bytes = offsetof(struct log_header, n_segments);
    bool has_begun = is_begun(log);
    uint64_t run_id = log->seen.run_id;
    struct log_header now;

    memcpy(&now, log->file, sizeof(now));
    if (live_log_is_cut(log))
        return;
    if (log->has_begun) {
        log->seen.flags = now.flags;
        log->seen.last_ticks = now.last_ticks;
        log->seen.last_monotonic_ns = now.last_monotonic_ns;
        memcpy((uint8_t *)&log->seen + constant_bytes, (const uint8_t *)&now + constant_bytes,
               sizeof(now) - constant_bytes);
        return;
    }
    memcpy(&log->seen, &now, sizeof(now));
    log->seen.run_id = run_id;
    log->has_begun = has_begun;
}
