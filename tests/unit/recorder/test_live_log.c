/* SPDX-License-Identifier: MIT */
/*
 * A pool with a hole: space that the program could not reserve. Looking for used segments must not
 * touch it (LL-4): on tmpfs that takes memory, on a full one it is SIGBUS.
 */
#include "recorder/live_log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    N_POOL = 4,
    N_HOLE = 8,
    N_ALL = N_POOL + N_HOLE + 1,
    TMPFS_MAGIC_NUMBER = 0x01021994,
};

static bool is_tmpfs(const char *path)
{
    struct statfs status;

    return statfs(path, &status) == 0 && status.f_type == TMPFS_MAGIC_NUMBER;
}

static int64_t blocks_of(const struct live_log *log)
{
    struct stat status;

    assert_int_equal(fstat(log->fd, &status), 0);
    return status.st_blocks;
}

/* As the collector does for a chunk that it got behind one that it did not get. */
static void add_segment_behind_hole(struct live_log *log)
{
    const off_t offset =
        LOG_FILE_HEADER_BYTES + (off_t)(N_POOL + N_HOLE) * (off_t)LOG_SEGMENT_BYTES;
    struct log_segment *segment;

    assert_int_equal(posix_fallocate(log->fd, offset, LOG_SEGMENT_BYTES), 0);
    atomic_store(&log->file->n_segments, N_ALL);
    assert_true(live_log_refresh(log));
    segment = live_log_segment(log, N_POOL + N_HOLE);
    segment->sequence = 1;
    segment->run_id = log->file->run_id;
    segment->kind = LOG_SEGMENT_DEFS;
    atomic_store(&segment->state, LOG_STATE_FILLING);
}

static void passes_over_a_hole_without_touching_it(void **state)
{
    char path[64];
    struct live_log log;
    int64_t n_blocks;

    (void)state;
    (void)snprintf(path, sizeof(path), "/dev/shm/mtrace-test-%d.live", (int)getpid());
    if (!is_tmpfs("/dev/shm")) {
        print_message("skipped: /dev/shm is no tmpfs\n");
        skip();
    }
    assert_int_equal(live_log_create(path, 77, N_POOL, &log, NULL), 0);
    add_segment_behind_hole(&log);
    n_blocks = blocks_of(&log);
    assert_int_equal(live_log_next_used(&log, 0), N_POOL + N_HOLE);
    assert_int_equal(live_log_next_used(&log, N_POOL + N_HOLE + 1), N_ALL);
    assert_int_equal(blocks_of(&log), n_blocks);
    live_log_remove(&log);
    live_log_close(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_over_a_hole_without_touching_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
