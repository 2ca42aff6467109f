/* SPDX-License-Identifier: MIT */
/* The name of an exec successor's log, while the recorder packs earlier ones. */
#include "collector/os/sys.h"
#include "collector/process/output.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_BYTES = 512
};

static char g_folder[] = "/tmp/mtrace-output-XXXXXX";

/* The name of an image's log. */
static const char *log_of(unsigned image, const char *suffix)
{
    static char path[PATH_BYTES];

    assert_true(
        snprintf(path, PATH_BYTES, "%s/run.dat.%d.%u%s", g_folder, (int)getpid(), image, suffix)
        < PATH_BYTES);
    return path;
}

static void make(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
}

long __real_sys_open(const char *path, int flags, unsigned mode);
long __wrap_sys_open(const char *path, int flags, unsigned mode);

/* A recorder that works between any two system calls of the collector. */
long __wrap_sys_open(const char *path, int flags, unsigned mode)
{
    long fd = __real_sys_open(path, flags, mode);

    if (strcmp(path, log_of(0, "")) == 0 && fd == -ENOENT) {
        make(path);
        assert_int_equal(unlink(log_of(0, ".live")), 0);
    }
    return fd;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(g_folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(g_folder);
}

TESTS_WITH(make_folder, remove_folder);

TEST(a_name_of_a_log_being_packed_is_not_reused)
{
    static char first[PATH_BYTES];
    static struct config config = {.recorder_pid = 1, .max_live_bytes = UINT64_C(1) << 30};
    const struct output_parent parent = {first, 4711, (uint32_t)getpid(), false};

    assert_true(snprintf(first, PATH_BYTES, "%s/run.dat", g_folder) < PATH_BYTES);
    make(log_of(0, ".live"));
    assert_true(output_open(&config, &parent));
    assert_string_equal(output_path(), log_of(1, ".live"));
    assert_int_equal(access(log_of(0, ".live"), F_OK), -1);
    assert_int_equal(unlink(log_of(1, ".live")), 0);
    assert_int_equal(unlink(log_of(0, "")), 0);
}
