/* SPDX-License-Identifier: MIT */
/* Whether a process may still write to a log, by its header and a PID. */
#include "lib/abi/file_systems.h"
#include "lib/process/writer_liveness.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;

    assert_int_equal(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The header of a log that begins now. */
static struct log_header begin_log(void)
{
    return (struct log_header){.start_monotonic_ns = now_ns(CLOCK_MONOTONIC),
                               .start_unix_ns = now_ns(CLOCK_REALTIME)};
}

/* The log began a minute after the machine, and this process later than that. */
TEST(a_later_process_has_the_pid)
{
    struct log_header header = begin_log();
    uint64_t up_ns = now_ns(CLOCK_MONOTONIC);

    if (up_ns < UINT64_C(600) * 1000000000)
        skip();
    header.start_monotonic_ns = UINT64_C(60) * 1000000000;
    header.start_unix_ns -= up_ns - header.start_monotonic_ns;
    assert_false(writer_liveness_writes(getpid(), &header));
}

/* The same pid, as long after the start of an earlier boot. */
TEST(the_machine_was_started_again)
{
    struct log_header header = begin_log();

    header.start_unix_ns -= now_ns(CLOCK_BOOTTIME) + UINT64_C(86400) * 1000000000;
    header.start_monotonic_ns += UINT64_C(86400) * 1000000000;
    assert_false(writer_liveness_writes(getpid(), &header));
}

static void set_descriptors(rlim_t n)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* RU-1 */
TEST(without_a_descriptor_no_process_counts_as_dead)
{
    struct log_header header = begin_log();
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    set_descriptors(0);
    enum writer_liveness_state state_of_own = writer_liveness_of_pid(getpid());
    bool is_written = writer_liveness_writes(getpid(), &header);
    set_descriptors(limit.rlim_cur);
    assert_int_equal(state_of_own, WRITER_LIVENESS_UNKNOWN);
    assert_true(is_written);
    assert_int_equal(writer_liveness_of_pid(getpid()), WRITER_LIVENESS_ALIVE);
}

/* A process that maps the file at `path`, and has no descriptor of it. */
static pid_t map_by_other(const char *path)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
            _exit(1);
        close(fd);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* Its PID means nothing here, its mapping does. */
TEST(a_log_of_another_pid_namespace)
{
    struct log_header header = begin_log();
    char path[] = "/tmp/mtrace-test-running-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    pid_t pid;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    pid = map_by_other(path);
    header.pid = INT32_MAX; /* of no process */
    header.pid_space = writer_liveness_pid_space() + 1;
    assert_false(writer_liveness_knows_pid(&header));
    int reader = open(path, O_RDONLY | O_CLOEXEC);
    if (writer_liveness_of_file(fd)
        == WRITER_LIVENESS_ALIVE) { /* otherwise no process is in that namespace */
        assert_int_not_equal(writer_liveness_of_program(&header, fd), WRITER_LIVENESS_DEAD);
        assert_int_not_equal(writer_liveness_of_program(&header, reader), WRITER_LIVENESS_DEAD);
    }
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(reader);
    if (writer_liveness_of_file(fd) != WRITER_LIVENESS_UNKNOWN) /* this file system reports it */
        assert_int_equal(writer_liveness_of_program(&header, fd), WRITER_LIVENESS_DEAD);
    close(fd);
    unlink(path);
}

/* However often it is queried while others open the file, and wait for the lease to be released. */
TEST(queries_do_not_disturb_other_openers)
{
    char path[] = "/tmp/mtrace-test-running-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    int reader = open(path, O_RDONLY | O_CLOEXEC);
    pid_t pid = fork();

    if (pid == 0) {
        close(fd);
        for (int i = 0; i < 20000; i++) {
            int other = open(path, O_RDWR | O_CLOEXEC);
            if (other < 0)
                _exit(1);
            close(other);
        }
        _exit(0);
    }
    close(fd);
    int status = -1;
    while (waitpid(pid, &status, WNOHANG) == 0)
        (void)writer_liveness_of_file(reader);
    assert_int_equal(status, 0);
    close(reader);
    unlink(path);
}

/* It has executed another program, and its recorder has the log open still, to write to it. */
TEST(a_process_that_closed_the_log_is_no_writer)
{
    struct log_header header = begin_log();
    char path[] = "/tmp/mtrace-test-running-XXXXXX";
    int recorders = mkostemp(path, O_CLOEXEC);
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_int_equal(ftruncate(recorders, 65536), 0);
    header.pid = (uint32_t)getpid();
    header.pid_space = writer_liveness_pid_space();
    assert_int_equal(writer_liveness_of_writer(&header, fd), WRITER_LIVENESS_DEAD);
    void *log = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, recorders, 0);
    assert_ptr_not_equal(log, MAP_FAILED);
    assert_int_equal(writer_liveness_of_writer(&header, fd), WRITER_LIVENESS_ALIVE);
    assert_int_equal(munmap(log, 65536), 0);
    assert_int_equal(writer_liveness_of_writer(&header, fd), WRITER_LIVENESS_DEAD);
    close(recorders);
    close(fd);
    unlink(path);
}

/* No process has written to it since the machine was booted, in any namespace. */
TEST(a_log_of_an_earlier_boot_has_no_writer)
{
    struct log_header header = begin_log();
    char path[] = "/tmp/mtrace-test-running-XXXXXX";
    int made = mkostemp(path, O_CLOEXEC);
    int fd = open(path, O_PATH | O_CLOEXEC); /* a file system that does not report who has it
                                              * open */
    struct statfs status;

    assert_int_equal(fstatfs(fd, &status), 0);
    header.pid = (uint32_t)getpid();
    header.pid_space = writer_liveness_pid_space() + 1;
    header.start_unix_ns -= now_ns(CLOCK_BOOTTIME) + UINT64_C(86400) * 1000000000;
    bool is_gone = writer_liveness_of_writer(&header, fd) == WRITER_LIVENESS_DEAD;
    close(fd);
    close(made);
    unlink(path);
    if (!file_systems_is_shared_by_machines((uint64_t)status.f_type))
        assert_true(is_gone);
}

/* A process queries who has it open, and is not scheduled before it releases the lease. */
static void hold_lease(const char *path, int ready)
{
    const struct timespec while_held = {.tv_nsec = 200000000};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool is_held =
        fd >= 0 && fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;

    (void)!write(ready, is_held ? "y" : "n", 1);
    nanosleep(&while_held, NULL);
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    _exit(0);
}

TEST(a_lease_is_waited_for)
{
    char path[] = "/tmp/mtrace-test-patient-XXXXXX";
    int made = mkostemp(path, O_CLOEXEC);
    int ready[2];
    char answer = 'n';
    int fd;

    assert_true(made >= 0);
    close(made);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        hold_lease(path, ready[1]);
    assert_int_equal(read(ready[0], &answer, 1), 1);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (answer == 'y')
        assert_true(fd < 0 && errno == EWOULDBLOCK);
    if (fd >= 0)
        close(fd);
    fd = writer_liveness_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(ready[1]);
    unlink(path);
}

TEST(opening_a_pipe_does_not_wait)
{
    char path[] = "/tmp/mtrace-test-patient-XXXXXX";
    int fd;

    assert_non_null(mkdtemp(path));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    fd = writer_liveness_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
}
