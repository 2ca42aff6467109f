/* SPDX-License-Identifier: MIT */
/*
 * A folder without shared mappings or fallocate, or whose fallocate reserves nothing: the test
 * replaces mmap, fallocate and fstatfs of live_log.
 */
#include "lib/logfile/live_log.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    N_POOL = 4,
    TMPFS_MAGIC_NUMBER = 0x01021994,
};

static const char *refusing_folder; /* no shared mapping of a file in it; NULL: none refuses */
static bool has_fallocate = true;
static const char *copying_folder; /* its file system is btrfs, it says */

void *__real_mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset);
int __real_fallocate(int fd, int mode, off_t offset, off_t n);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t n);

int __real_fstatfs(int fd, struct statfs *ret_status);
int __wrap_fstatfs(int fd, struct statfs *ret_status);

static bool is_in(int fd, const char *folder)
{
    char link[64];
    char path[256] = "";

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return folder && readlink(link, path, sizeof(path) - 1) > 0
           && strncmp(path, folder, strlen(folder)) == 0;
}

int __wrap_fstatfs(int fd, struct statfs *ret_status)
{
    int result = __real_fstatfs(fd, ret_status);

    if (is_in(fd, copying_folder))
        ret_status->f_type = 0x9123683e;
    return result;
}

void *__wrap_mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset)
{
    if ((flags & MAP_SHARED) && is_in(fd, refusing_folder)) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return __real_mmap(address, n, protection, flags, fd, offset);
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t n)
{
    if (has_fallocate)
        return __real_fallocate(fd, mode, offset, n);
    errno = EOPNOTSUPP;
    return -1;
}

TEST(goes_elsewhere_without_shared_mappings)
{
    char folder[] = "/tmp/mtrace-test-live-XXXXXX";
    char path[64];
    struct live_log log;
    struct live_log opened;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/run.dat.live", folder);
    refusing_folder = folder;
    assert_int_equal(live_log_create(path, 0x123456789abcdef0, N_POOL, &log, NULL), 0);
    assert_string_equal(log.path, "/dev/shm/mtrace-123456789abcdef0.live");
    assert_true(log.file->flags & LOG_FLAG_WEAK);
    assert_int_equal(log.n_mapped, N_POOL);
    assert_int_equal(live_log_open(path, true, &opened, NULL), 0); /* through the link */
    assert_int_equal(opened.file->run_id, log.file->run_id);
    refusing_folder = NULL;
    live_log_remove(&opened); /* as a later recorder does */
    live_log_close(&opened);
    assert_int_not_equal(access(log.path, F_OK), 0);
    live_log_close(&log);
    assert_int_equal(rmdir(folder), 0); /* the link is gone, too */
}

/* If blocks are never overwritten in place, reserved space may be missing when it is written. */
TEST(goes_elsewhere_where_reservations_do_not_hold)
{
    char folder[] = "/tmp/mtrace-test-live-XXXXXX";
    char path[64];
    struct live_log log;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/run.dat.live", folder);
    copying_folder = folder;
    assert_int_equal(live_log_create(path, 0x1234, N_POOL, &log, NULL), 0);
    copying_folder = NULL;
    assert_string_equal(log.path, "/dev/shm/mtrace-0000000000001234.live");
    assert_true(log.file->flags & LOG_FLAG_WEAK);
    assert_non_null(log.weakness);
    live_log_remove(&log);
    live_log_close(&log);
    assert_int_equal(rmdir(folder), 0);
}

/* A link that the program created, to a file of another user. */
TEST(another_link_is_not_followed_to_be_removed)
{
    char folder[] = "/tmp/mtrace-test-live-XXXXXX";
    char path[64];
    char link[64];
    struct live_log log;
    struct live_log opened;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/other.live", folder);
    (void)snprintf(link, sizeof(link), "%s/run.dat.live", folder);
    assert_int_equal(live_log_create(path, 0x1234, N_POOL, &log, NULL), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(live_log_open(link, true, &opened, NULL), 0);
    live_log_remove(&opened);
    live_log_close(&opened);
    assert_int_equal(access(path, F_OK), 0);
    live_log_remove(&log);
    live_log_close(&log);
    assert_int_equal(rmdir(folder), 0);
}

TEST(a_pool_elsewhere_may_be_impossible)
{
    struct live_log log;
    struct error err;
    char path[64];

    (void)snprintf(path, sizeof(path), "/dev/shm/mtrace-test-%d.live", (int)getpid());
    refusing_folder = "/dev/shm";
    assert_int_not_equal(live_log_create(path, 99, N_POOL, &log, &err), 0);
    refusing_folder = NULL;
    assert_non_null(strstr(err.text, path));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access("/dev/shm/mtrace-0000000000000063.live", F_OK), 0);
}

TEST(reserves_by_writing_where_fallocate_is_missing)
{
    char path[] = "/tmp/mtrace-test-live-XXXXXX";
    struct live_log log;
    struct stat status;

    close(mkstemp(path));
    unlink(path);
    has_fallocate = false;
    assert_int_equal(live_log_create(path, 77, N_POOL, &log, NULL), 0);
    has_fallocate = true;
    assert_int_equal(fstat(log.fd, &status), 0);
    assert_int_equal(status.st_size, LOG_FILE_HEADER_BYTES + N_POOL * LOG_SEGMENT_BYTES);
    assert_true(status.st_blocks * 512 >= N_POOL * LOG_SEGMENT_BYTES);
    live_log_remove(&log);
    live_log_close(&log);
}
