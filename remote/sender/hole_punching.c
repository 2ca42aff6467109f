/* SPDX-License-Identifier: MIT */
#include "remote/sender/hole_punching.h"

#include "lib/base/file_io.h"
#include "lib/logfile/log_header.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE_BYTES = 4096,
    HOLE_BEGIN = LOG_FILE_HEADER_BYTES + PAGE_BYTES, /* after the page with the mark */
};

static bool is_same(const struct log_tail *tail, const struct stat *status)
{
    return S_ISREG(status->st_mode) && status->st_dev == tail->device
           && status->st_ino == tail->inode;
}

bool hole_punching_is_due(const struct sent_log *log)
{
    uint64_t from =
        log->asked_sync > log->tail.punched_hole ? log->asked_sync : log->tail.punched_hole;

    return log->acked_bytes >= from + HOLE_PUNCHING_STEP;
}

/* Opens the file for writing; -1: another file has its name now. */
static int open_same(const struct sent_log *log)
{
    int fd = open(log->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;

    if (fd >= 0 && (fstat(fd, &status) != 0 || !is_same(&log->tail, &status))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* GB-2. Without support for holes the page is restored. */
static bool make_hole(int fd, uint64_t until)
{
    uint8_t page[PAGE_BYTES];
    uint64_t end = until / PAGE_BYTES * PAGE_BYTES;
    size_t n = 0;

    if (file_io_read(fd, page, sizeof(page), LOG_FILE_HEADER_BYTES, &n) != 0 || n != sizeof(page)
        || punched_hole_mark(fd, until) != 0)
        return false;
    /* sync first: the disk could have the hole before the mark */
    if (fdatasync(fd) == 0
        && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, HOLE_BEGIN,
                     (off_t)(end - HOLE_BEGIN))
               == 0)
        return true;
    (void)file_io_write(fd, page, sizeof(page), LOG_FILE_HEADER_BYTES, NULL);
    return false;
}

bool hole_punching_take(struct sent_log *log, uint64_t synced)
{
    uint64_t until = synced > HOLE_PUNCHING_KEPT
                         ? log_tail_boundary(&log->tail, synced - HOLE_PUNCHING_KEPT)
                         : 0;
    bool is_done;
    int fd;

    if (until <= log->tail.punched_hole || until < HOLE_BEGIN + PAGE_BYTES)
        return true;
    fd = open_same(log);
    if (fd < 0)
        return true;
    is_done = make_hole(fd, until);
    close(fd);
    if (is_done)
        log->tail.punched_hole = until;
    return is_done;
}

bool hole_punching_remove(const struct sent_log *log)
{
    struct stat status;

    return log->tail.has_trailer && lstat(log->path, &status) == 0 && is_same(&log->tail, &status)
           && unlink(log->path) == 0;
}
