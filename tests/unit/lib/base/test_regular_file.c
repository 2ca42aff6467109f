/* SPDX-License-Identifier: MIT */
#include "lib/base/regular_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

/* needs the headers above */
#include <cmocka.h>

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

/* Also by the kernel's word. */
static bool was_opened(void)
{
    char events[4096];

    return read(watch, events, sizeof(events)) > 0;
}

static void test_only_a_file_is_opened(void **state)
{
    struct stat status;
    int fd;

    (void)state;
    regular_file_open_foreign(file, &fd, &status);
    assert_true(fd >= 0);
    assert_true(was_opened());
    close(fd);
    regular_file_open_foreign(pipe_path, &fd, &status);
    assert_int_equal(fd, -1);
    regular_file_open_foreign(link_path, &fd, &status);
    assert_int_equal(fd, -1);
    regular_file_open_foreign(folder, &fd, &status);
    assert_int_equal(fd, -1);
    regular_file_open_foreign("/nonexistent", &fd, &status);
    assert_int_equal(fd, -1);
    assert_false(was_opened());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_only_a_file_is_opened)};

    return cmocka_run_group_tests_name("regular_file", tests, set_up, tear_down);
}
