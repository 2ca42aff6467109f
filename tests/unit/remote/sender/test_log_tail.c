/* SPDX-License-Identifier: MIT */
#include "lib/base/error.h"
#include "lib/logfile/pack.h"
#include "remote/sender/log_tail.h"
#include "remote/wire/wire.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* needs the headers above */

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

/* TL-1: a frame counts when it is complete; bytes after the last one count only at the end. */
TEST_WITH(test_whole_frames, set_up, tear_down)
{
    struct log_tail tail;

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
TEST_WITH(test_header, set_up, tear_down)
{
    struct log_header file = {.version = LOG_VERSION, .form = LOG_FORM_PACKED, .run_id = 5};
    uint8_t page[LOG_FILE_HEADER_BYTES] = {0};
    struct log_tail tail;

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

static void put_file(const char *name, const struct log_header *file, const void *bytes,
                     size_t n_bytes, uint64_t begin)
{
    uint8_t page[LOG_FILE_HEADER_BYTES] = {0};
    int out = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

    memcpy(page, file, sizeof(*file));
    memcpy(page + LOG_ROTATED_BEGIN_AT, &begin, sizeof(begin));
    assert_int_equal(write(out, page, sizeof(page)), sizeof(page));
    assert_int_equal(write(out, bytes, n_bytes), n_bytes);
    close(out);
}

/* Rotated files are read as one log, also where a failed write left bytes at the end of one, and
 * are removed when their end is synced, but for the last one. A file of another run is no part. */
TEST_WITH(test_rotated_files, set_up, tear_down)
{
    struct log_header file = {.form = LOG_FORM_PACKED, .run_id = 5};
    const uint64_t begin = LOG_FILE_HEADER_BYTES;
    struct log_tail tail;
    uint8_t bytes[8192];
    uint64_t second;
    char names[3][sizeof(path) + 4];

    for (int i = 0; i < 3; i++)
        (void)snprintf(names[i], sizeof(names[i]), "%s.g%d", path, i + 1);
    put_file(path, &file, LOG_ROTATED_MAGIC, 8, 0);
    memcpy(bytes, frame, n_frame);
    memset(bytes + n_frame, 7, 100);
    put_file(names[0], &file, bytes, n_frame + 100, begin);
    assert_int_equal(log_tail_open(path, &tail, NULL), 0);
    log_tail_look(&tail, false);
    second = begin + n_frame;
    assert_int_equal(tail.end, second);
    put_file(names[1], &file, frame, n_frame, second);
    file.run_id = 6;
    put_file(names[2], &file, frame, n_frame, second + n_frame);
    log_tail_look(&tail, false);
    assert_int_equal(tail.end, second + n_frame);
    assert_int_equal(log_tail_read(&tail, bytes, sizeof(bytes), begin), n_frame);
    assert_int_equal(log_tail_read(&tail, bytes, sizeof(bytes), second), n_frame);
    assert_memory_equal(bytes, frame, n_frame);
    log_tail_remove(&tail, second + WIRE_HASHED_BYTES - 1);
    assert_int_equal(access(names[0], F_OK), 0);
    log_tail_remove(&tail, second + WIRE_HASHED_BYTES);
    assert_int_equal(access(names[0], F_OK), -1);
    log_tail_remove(&tail, UINT64_MAX - 1);
    assert_int_equal(access(names[1], F_OK), 0);
    log_tail_close(&tail);

    assert_int_equal(log_tail_open(path, &tail, NULL), 0); /* as after a restart */
    log_tail_look(&tail, false);
    assert_int_equal(tail.begin, second);
    assert_int_equal(tail.end, second + n_frame);
    assert_int_equal(log_tail_read(&tail, bytes, sizeof(bytes), begin), 0);
    log_tail_close(&tail);
    (void)unlink(names[1]);
    (void)unlink(names[2]);
}
