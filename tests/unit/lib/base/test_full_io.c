/* SPDX-License-Identifier: MIT */
/* All bytes are written and read by a system that does a part each time, is interrupted, or fails in the midst. */
#include "lib/base/full_io.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    PART_BYTES = 3,
    AT = 5,
};

static const char text[] = "all of these bytes";

static unsigned g_calls;
static unsigned g_fails_at; /* the call that fails; 0: none */

ssize_t __real_pwrite(int fd, const void *bytes, size_t n_bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n_bytes, off_t offset);
ssize_t __real_pread(int fd, void *bytes, size_t n_bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *bytes, size_t n_bytes, off_t offset);

/* Each second call is interrupted. */
static int refuse(void)
{
    g_calls++;
    if (g_calls == g_fails_at)
        return ENOSPC;
    return g_calls % 2 == 0 ? EINTR : 0;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n_bytes, off_t offset)
{
    errno = refuse();
    return errno ? -1
                 : __real_pwrite(fd, bytes, n_bytes < PART_BYTES ? n_bytes : PART_BYTES, offset);
}

ssize_t __wrap_pread(int fd, void *bytes, size_t n_bytes, off_t offset)
{
    errno = refuse();
    return errno ? -1
                 : __real_pread(fd, bytes, n_bytes < PART_BYTES ? n_bytes : PART_BYTES, offset);
}

static int open_empty(void)
{
    char name[] = "/tmp/mtrace-whole-XXXXXX";
    int fd = mkstemp(name);

    assert_true(fd >= 0);
    unlink(name);
    g_calls = g_fails_at = 0;
    return fd;
}

static void all_is_done(void **state)
{
    char back[2 * sizeof(text)];
    size_t n;
    int fd = open_empty();

    (void)state;
    assert_int_equal(full_io_write(fd, text, sizeof(text), AT, &n), 0);
    assert_int_equal(n, sizeof(text));
    assert_int_equal(full_io_write(fd, text, sizeof(text), AT, NULL), 0);
    assert_int_equal(lseek(fd, 0, SEEK_END), AT + sizeof(text));
    assert_int_equal(full_io_read(fd, back, sizeof(text), AT, &n), 0);
    assert_int_equal(n, sizeof(text));
    assert_memory_equal(back, text, sizeof(text));
    assert_int_equal(full_io_read(fd, back, sizeof(back), AT + 1, &n), 0);
    assert_int_equal(n, sizeof(text) - 1);
    assert_memory_equal(back, text + 1, n);
    close(fd);
}

static void what_was_done_before_a_failure_is_reported(void **state)
{
    char back[sizeof(text)];
    size_t n;
    int fd = open_empty();

    (void)state;
    g_fails_at = 4;
    assert_int_equal(full_io_write(fd, text, sizeof(text), 0, &n), ENOSPC);
    assert_int_equal(n, 2 * PART_BYTES);
    g_calls = 0;
    assert_int_equal(full_io_read(fd, back, sizeof(back), 0, &n), ENOSPC);
    assert_int_equal(n, 2 * PART_BYTES);
    assert_memory_equal(back, text, n);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_done),
        cmocka_unit_test(what_was_done_before_a_failure_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
