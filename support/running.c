/* SPDX-License-Identifier: MIT */
#include "support/running.h"

#include "common/file_systems.h"
#include "support/process_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
    STAT_BYTES = 1024
};

static const int64_t second_ns = 1000000000;

/* Clocks are read one after the other, and ticks are coarse. */
static const int64_t slack_ns = 1000000000;

/* Of the wall clock, which may have been set since. */
static const int64_t set_clock_ns = 3600 * (int64_t)1000000000;

/* What follows the name in /proc/PID/stat, NULL when there is none. */
static const char *read_stat(pid_t pid, char *text, int n_bytes)
{
    char path[64];
    FILE *file;
    const char *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return NULL;
    at = fgets(text, n_bytes, file) ? strrchr(text, ')') : NULL;
    fclose(file);
    return at ? at + 1 : NULL;
}

/* kill needs no descriptor, and tells of those, too, whom /proc hides. */
static bool is_no_process(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

enum running_state running_look(pid_t pid)
{
    char text[STAT_BYTES];
    const char *at;
    char state;
    long n_threads;

    if (pid <= 0)
        return RUNNING_UNKNOWN;
    if (is_no_process(pid))
        return RUNNING_GONE;
    at = read_stat(pid, text, sizeof(text));
    if (!at
        || sscanf(at, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
                  &state, &n_threads)
               != 2)
        return is_no_process(pid) ? RUNNING_GONE : RUNNING_UNKNOWN;
    return (state == 'Z' || state == 'X') && n_threads <= 1 ? RUNNING_GONE : RUNNING_THERE;
}

bool running_is(pid_t pid)
{
    return running_look(pid) != RUNNING_GONE;
}

/* A process stays in the one where it began. */
uint32_t running_pid_space(void)
{
    static _Atomic uint32_t known; /* 0: not yet */
    uint32_t space = atomic_load_explicit(&known, memory_order_relaxed);
    struct stat status;

    if (space == 0 && stat("/proc/self/ns/pid", &status) == 0) {
        space = (uint32_t)status.st_ino;
        atomic_store_explicit(&known, space, memory_order_relaxed);
    }
    return space;
}

bool running_knows_pid(const struct log_file *header)
{
    return header->pid_space == 0 || header->pid_space == running_pid_space();
}

/* The kernel gives a lease only while nobody else has the file open in a way that goes against it. It is given back at once:
 * who opens the file meanwhile waits for that. */
enum running_state running_look_at_file(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    int lease = (flags & O_ACCMODE) == O_RDONLY ? F_RDLCK : F_WRLCK;
    struct statfs status;

    if (flags < 0 || fstatfs(fd, &status) != 0
        || !file_systems_tells_who_has_it_open((uint64_t)status.f_type))
        return RUNNING_UNKNOWN;
    (void)fcntl(fd, F_SETSIG, SIGURG); /* of who opens it just then; SIGIO would end us */
    if (fcntl(fd, F_SETLEASE, lease) != 0)
        return errno == EAGAIN ? RUNNING_THERE : RUNNING_UNKNOWN;
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    return RUNNING_GONE;
}

enum running_state running_look_at_log(const struct log_file *header, int fd)
{
    enum running_state by_pid =
        running_knows_pid(header) ? running_look((pid_t)header->pid) : RUNNING_UNKNOWN;
    enum running_state by_file;

    /* who did not know its namespace may be of another */
    if (by_pid == RUNNING_THERE || (by_pid == RUNNING_GONE && header->pid_space))
        return by_pid;
    by_file = running_look_at_file(fd);
    return by_file == RUNNING_UNKNOWN ? by_pid : by_file;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return now.tv_sec * second_ns + now.tv_nsec;
}

/* When the process started, by CLOCK_BOOTTIME; negative: not known. */
static int64_t started_ns(pid_t pid)
{
    char text[STAT_BYTES];
    const char *at = read_stat(pid, text, sizeof(text));
    uint64_t ticks;

    if (!at
        || sscanf(at,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d"
                  " %" SCNu64,
                  &ticks)
               != 1)
        return -1;
    return (int64_t)(ticks / (uint64_t)sysconf(_SC_CLK_TCK)) * second_ns;
}

/* While the machine slept CLOCK_MONOTONIC stood still: a sleep since the log began makes the
 * process look older than it is, never younger. */
static bool began_before_log(int64_t process_ns, const struct log_file *header)
{
    int64_t boot_now = clock_ns(CLOCK_BOOTTIME);
    int64_t boot_unix_ns = clock_ns(CLOCK_REALTIME) - boot_now;
    int64_t process_monotonic_ns = process_ns - (boot_now - clock_ns(CLOCK_MONOTONIC));

    if ((int64_t)header->start_unix_ns < boot_unix_ns - set_clock_ns)
        return false; /* the log is of an earlier boot */
    return process_monotonic_ns <= (int64_t)header->start_monotonic_ns + slack_ns;
}

bool running_writes(pid_t pid, const struct log_file *header)
{
    if (pid <= 0 || !running_is(pid))
        return false;
    if (header->start_unix_ns == 0 || header->start_monotonic_ns == 0)
        return true; /* nothing is in it yet */
    int64_t process_ns = started_ns(pid);
    return process_ns < 0 || began_before_log(process_ns, header);
}

struct sought_file {
    const struct stat *status;
    bool is_seen; /* any mapping was */
    bool is_found;
};

static bool compare_file(const struct process_mapping *mapping, void *context)
{
    struct sought_file *sought = context;

    sought->is_seen = true;
    sought->is_found =
        mapping->device == sought->status->st_dev && mapping->inode == sought->status->st_ino;
    return !sought->is_found;
}

/* One whose main thread has ended, and others have not, shows nothing. */
bool running_maps(pid_t pid, const struct stat *file, bool *ret_is_known)
{
    struct sought_file sought = {.status = file};

    (void)process_maps_visit(pid, compare_file, &sought);
    if (ret_is_known)
        *ret_is_known = sought.is_seen;
    return sought.is_found;
}

/* A process cannot even begin without page faults, and those of waited-for children are added up. */
bool running_has_waited(pid_t pid)
{
    char text[STAT_BYTES];
    const char *at = read_stat(pid, text, sizeof(text));
    uint64_t minor;
    uint64_t major;

    return !at
           || sscanf(at, " %*c %*d %*d %*d %*d %*d %*u %*u %" SCNu64 " %*u %" SCNu64, &minor,
                     &major)
                  != 2
           || minor + major > 0;
}

/* exit_code is the last field. The kernel shows 0 to those who may not know, so 0 says nothing. */
bool running_find_status(pid_t pid, int *ret_wait_status)
{
    char text[STAT_BYTES];
    const char *at = read_stat(pid, text, sizeof(text));
    const char *last = at ? strrchr(at, ' ') : NULL;

    return last && at[1] == 'Z' && sscanf(last, "%d", ret_wait_status) == 1
           && *ret_wait_status != 0;
}
