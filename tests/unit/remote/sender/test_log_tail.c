/* SPDX-License-Identifier: MIT */
#include "lib/base/error.h"
#include "lib/logfile/pack.h"
#include "remote/sender/log_tail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* needs the headers above */
#include <cmocka.h>

static char path[] = "/tmp/test-log-tail-XXXXXX";
static uint8_t frame[4096];
static size_t n_frame;
static int fd;

static int set_up(void **state)
{
    static const uint8_t bytes[200] = {1, 2, 3};
    const struct pack_settings settings = {0};
    struct pack *pack = pack_new();

    (void)state;
    strcpy(path, "/tmp/test-log-tail-XXXXXX");
    fd = mkstemp(path);
    n_frame = pack_bytes(pack, &settings, LOG_FRAME_SAMPLES, 1, bytes, sizeof(bytes), frame);
    pack_free(pack);
    return fd >= 0 && n_frame < sizeof(frame) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    close(fd);
    return unlink(path);
}

/* TL-1: a frame counts when all of it is there; what lies behind the last one only at the end. */
static void test_whole_frames(void **state)
{
    struct log_tail tail;

    (void)state;
    assert_int_equal(log_tail_open(path, &tail, NULL), 0);
    log_tail_look(&tail, false);
    assert_int_equal(tail.end, LOG_FILE_HEADER_BYTES);
    for (size_t n = 1; n <= n_frame; n++) {
        assert_int_equal(pwrite(fd, frame, n, LOG_FILE_HEADER_BYTES), n);
        log_tail_look(&tail, false);
        assert_int_equal(tail.end, n < n_frame ? LOG_FILE_HEADER_BYTES : LOG_FILE_HEADER_BYTES + n);
    }
    assert_int_equal(pwrite(fd, frame, 100, (off_t)tail.end), 100);
    log_tail_look(&tail, false);
    assert_int_equal(tail.end, LOG_FILE_HEADER_BYTES + n_frame);
    log_tail_look(&tail, true);
    assert_int_equal(tail.end, LOG_FILE_HEADER_BYTES + n_frame + 100);
    log_tail_close(&tail);
}

/* A header page counts once the program has written its log's. */
static void test_header(void **state)
{
    struct log_file file = {.version = LOG_VERSION, .form = LOG_FORM_PACKED, .run_id = 5};
    uint8_t page[LOG_FILE_HEADER_BYTES] = {0};
    struct log_tail tail;

    (void)state;
    assert_int_equal(log_tail_open(path, &tail, NULL), 0);
    assert_false(log_tail_read_header(&tail, page));
    memcpy(file.magic, LOG_MAGIC, sizeof(file.magic));
    memcpy(page, &file, sizeof(file));
    assert_int_equal(pwrite(fd, page, sizeof(page), 0), sizeof(page));
    assert_false(log_tail_read_header(&tail, page));
    file.start_ticks = 1;
    memcpy(page, &file, sizeof(file));
    assert_int_equal(pwrite(fd, page, sizeof(page), 0), sizeof(page));
    assert_true(log_tail_read_header(&tail, page));
    log_tail_close(&tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole_frames, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_header, set_up, tear_down)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
