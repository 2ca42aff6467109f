/* SPDX-License-Identifier: MIT */
/* What is given back is never without the mark that says so, whenever the power fails. */
#include "lib/base/error.h"
#include "lib/logfile/log_header.h"
#include "lib/logfile/pack.h"
#include "remote/sender/hole_punching.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* needs the headers above */
#include <cmocka.h>

enum {
    N_FRAMES = 1000
};

static char path[] = "/tmp/test-giving-back-XXXXXX";
static bool is_sync_failing;
static bool is_marked; /* in the file, when it was synced last */
static bool has_hole;  /* the same */

int __wrap_fdatasync(int fd);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t n_bytes);

int __wrap_fdatasync(int fd)
{
    assert_false(has_hole);
    is_marked = punched_hole_read(fd) != 0;
    errno = is_sync_failing ? EIO : 0;
    return is_sync_failing ? -1 : 0;
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t n_bytes)
{
    (void)fd, (void)mode, (void)offset, (void)n_bytes;
    assert_true(is_marked); /* GB-2 */
    has_hole = true;
    return 0;
}

static int set_up(void **state)
{
    static const uint8_t bytes[4000] = {1, 2, 3};
    static uint8_t frame[8192];
    const struct pack_settings settings = {0};
    struct pack *pack = pack_new();
    size_t n = pack_bytes(pack, &settings, LOG_FRAME_SAMPLES, 1, bytes, sizeof(bytes), frame);
    int fd;

    (void)state;
    strcpy(path, "/tmp/test-giving-back-XXXXXX");
    fd = mkstemp(path);
    for (size_t i = 0; i < N_FRAMES; i++)
        assert_int_equal(pwrite(fd, frame, n, (off_t)(LOG_FILE_HEADER_BYTES + i * n)), n);
    pack_free(pack);
    is_sync_failing = is_marked = has_hole = false;
    return close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static struct sent_log open_log(void)
{
    struct sent_log log = {.path = path};

    assert_int_equal(log_tail_open(path, &log.tail, NULL), 0);
    log_tail_look(&log.tail, false);
    assert_true(log.tail.end > HOLE_PUNCHING_STEP);
    return log;
}

static void the_mark_comes_before_the_hole(void **state)
{
    struct sent_log log = open_log();

    (void)state;
    assert_true(hole_punching_take(&log, log.tail.end));
    assert_true(has_hole);
    assert_true(log.tail.punched_hole > 0);
    log_tail_close(&log.tail);
}

static void without_the_mark_nothing_is_punched_hole(void **state)
{
    struct sent_log log = open_log();
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    (void)state;
    is_sync_failing = true;
    assert_false(hole_punching_take(&log, log.tail.end));
    assert_false(has_hole);
    assert_int_equal(log.tail.punched_hole, 0);
    assert_int_equal(punched_hole_read(fd), 0);
    close(fd);
    log_tail_close(&log.tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_mark_comes_before_the_hole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_the_mark_nothing_is_punched_hole, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
