/* SPDX-License-Identifier: MIT */
/* All bytes are written and read on a system that does a part each time, is interrupted, or fails
 * halfway. Only a regular file is opened. */
#include "lib/base/file_io.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

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

TEST(all_is_done)
{
    char back[2 * sizeof(text)];
    size_t n;
    int fd = open_empty();

    assert_int_equal(file_io_write(fd, text, sizeof(text), AT, &n), 0);
    assert_int_equal(n, sizeof(text));
    assert_int_equal(file_io_write(fd, text, sizeof(text), AT, NULL), 0);
    assert_int_equal(lseek(fd, 0, SEEK_END), AT + sizeof(text));
    assert_int_equal(file_io_read(fd, back, sizeof(text), AT, &n), 0);
    assert_int_equal(n, sizeof(text));
    assert_memory_equal(back, text, sizeof(text));
    assert_int_equal(file_io_read(fd, back, sizeof(back), AT + 1, &n), 0);
    assert_int_equal(n, sizeof(text) - 1);
    assert_memory_equal(back, text + 1, n);
    close(fd);
}

TEST(bytes_written_before_a_failure_are_reported)
{
    char back[sizeof(text)];
    size_t n;
    int fd = open_empty();

    g_fails_at = 4;
    assert_int_equal(file_io_write(fd, text, sizeof(text), 0, &n), ENOSPC);
    assert_int_equal(n, 2 * PART_BYTES);
    g_calls = 0;
    assert_int_equal(file_io_read(fd, back, sizeof(back), 0, &n), ENOSPC);
    assert_int_equal(n, 2 * PART_BYTES);
    assert_memory_equal(back, text, n);
    close(fd);
}

static char folder[64];
static char file[96], pipe_path[96], link_path[96];
static int watch = -1;

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/test-regular-file-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(file, sizeof(file), "%s/file", folder);
    (void)snprintf(pipe_path, sizeof(pipe_path), "%s/pipe", folder);
    (void)snprintf(link_path, sizeof(link_path), "%s/link", folder);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    if (mkfifo(pipe_path, 0600) != 0 || symlink(file, link_path) != 0)
        return -1;
    watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return inotify_add_watch(watch, folder, IN_OPEN) >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[80];

    (void)state;
    close(watch);
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

/* A kernel may also report it. */
static bool was_opened(void)
{
    char events[4096];

    return read(watch, events, sizeof(events)) > 0;
}

TEST_WITH(test_only_a_file_is_opened, set_up, tear_down)
{
    struct stat status;
    int fd;

    file_io_open_regular_foreign(file, &fd, &status);
    assert_true(fd >= 0);
    assert_true(was_opened());
    close(fd);
    file_io_open_regular_foreign(pipe_path, &fd, &status);
    assert_int_equal(fd, -1);
    file_io_open_regular_foreign(link_path, &fd, &status);
    assert_int_equal(fd, -1);
    file_io_open_regular_foreign(folder, &fd, &status);
    assert_int_equal(fd, -1);
    file_io_open_regular_foreign("/nonexistent", &fd, &status);
    assert_int_equal(fd, -1);
    assert_false(was_opened());
}

TEST(where_it_leads)
{
    char place[] = "/tmp/test-link-target-XXXXXX";
    char path[96];
    char target[8] = "before";

    assert_non_null(mkdtemp(place));
    (void)snprintf(path, sizeof(path), "%s/link", place);
    assert_false(file_io_link_target(path, target, sizeof(target)));
    assert_string_equal(target, "");
    assert_int_equal(symlink("no/file", path), 0);
    assert_true(file_io_link_target(path, target, sizeof(target)));
    assert_string_equal(target, "no/file");
    assert_true(file_io_link_target(path, target, 4)); /* cut */
    assert_string_equal(target, "no/");
    assert_false(file_io_link_target(place, target, sizeof(target))); /* no link */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(place), 0);
}
