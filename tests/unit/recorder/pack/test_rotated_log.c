/* SPDX-License-Identifier: MIT */
/* A rotated file that cannot be begun because the disk is full leaves nothing behind that matters
 * later. Rotated files have a limit, whatever happens to the follower; removed files make room. */
#include "lib/logfile/log_rotation.h"
#include "recorder/pack/rotated_log.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/mtrace-test-generations-XXXXXX";
static char path[48], first[64], second[64];
static int failure;

ssize_t __real_pwrite(int fd, const void *bytes, size_t n, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t offset);

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
    errno = failure;
    return failure ? -1 : __real_pwrite(fd, bytes, n, offset);
}

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/run.dat", folder);
    (void)snprintf(first, sizeof(first), "%s.g1", path);
    (void)snprintf(second, sizeof(second), "%s.g2", path);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    log_rotation_remove(path);
    unlink(path);
    return rmdir(folder);
}

static bool is_there(const char *name)
{
    struct stat status;

    return stat(name, &status) == 0;
}

TESTS_WITH(make_folder, remove_folder);

TEST(it_is_begun_once_there_is_room)
{
    const struct log_header file = {.run_id = 1};
    const char frame[4096] = {1};
    struct rotated_log_run run = {.log_path = path};
    struct rotated_log rotated;
    struct error err;

    rotated_log_init(&rotated, path, &run);
    rotated.max_bytes = LOG_FILE_HEADER_BYTES + sizeof(frame);
    assert_int_equal(rotated_log_append(&rotated, &file, frame, sizeof(frame), &err), 0);
    failure = EIO;
    assert_int_not_equal(rotated_log_append(&rotated, &file, frame, sizeof(frame), &err), 0);
    assert_false(run.was_disk_full);
    failure = ENOSPC;
    for (int i = 0; i < 2; i++) {
        assert_int_not_equal(rotated_log_append(&rotated, &file, frame, sizeof(frame), &err), 0);
        assert_non_null(strstr(err.text, strerror(ENOSPC)));
        assert_true(is_there(first));
        assert_false(is_there(second));
    }
    assert_true(run.was_disk_full);
    failure = 0;
    assert_int_equal(rotated_log_append(&rotated, &file, frame, sizeof(frame), &err), 0);
    assert_true(is_there(second));
    rotated_log_done(&rotated);
}

static uint64_t bytes_there(void)
{
    return log_rotation_run_bytes(path);
}

/* Appends until there is no space, or `most` frames. */
static size_t append(struct rotated_log *rotated, size_t most)
{
    static const char frame[65536] = {1};
    const struct log_header file = {.run_id = 1};
    struct error err;
    size_t n = 0;

    while (n < most && rotated_log_append(rotated, &file, frame, sizeof(frame), &err) == 0)
        n++;
    return n;
}

TEST(rotated_files_of_all_logs_have_one_limit)
{
    const uint64_t bound = LOG_ROTATION_MAX * LOG_ROTATION_BYTES;
    struct rotated_log_run run = {.log_path = path};
    struct rotated_log parent, child;
    char child_path[64];

    (void)snprintf(child_path, sizeof(child_path), "%s.7.0", path);
    rotated_log_init(&parent, path, &run);
    rotated_log_init(&child, child_path, &run);
    assert_int_equal(append(&parent, 100), 100);
    size_t n_child = append(&child, SIZE_MAX);
    assert_true(child.is_full);
    assert_in_range(bytes_there(), bound - 2 * 65536, bound);
    assert_int_equal(append(&parent, 1), 0);
    assert_int_equal(unlink(first), 0);
    run.look_ns = 0;
    size_t n = append(&parent, SIZE_MAX);
    assert_in_range(n, LOG_ROTATION_BYTES / LOG_ROTATION_FILES / 65536 - 1,
                    LOG_ROTATION_BYTES / LOG_ROTATION_FILES / 65536 + 1);
    assert_true(bytes_there() <= bound);
    child.is_ending = true;
    assert_int_equal(append(&child, 3), 3);
    assert_int_equal(run.written_bytes, (100 + n_child + n + 3) * 65536);
    rotated_log_done(&parent);
    rotated_log_done(&child);
    log_rotation_remove(child_path);
}

TEST(a_log_without_a_header_is_not_made_to_look_like_another_file)
{
    const struct log_header file = {.run_id = 1};
    struct packed_log log;
    struct error err;

    assert_int_equal(packed_log_create(path, true, &log, &err), 0);
    failure = ENOSPC;
    assert_int_not_equal(packed_log_write_header(&log, &file, &err), 0);
    failure = 0;
    packed_log_close(&log);
    assert_int_equal(packed_log_check_target(path, true, &err), 0);
}
