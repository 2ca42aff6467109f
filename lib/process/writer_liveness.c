/* SPDX-License-Identifier: MIT */
#include "lib/process/writer_liveness.h"

#include "lib/abi/file_systems.h"
#include "lib/base/file_io.h"
#include "lib/base/monotonic.h"
#include "lib/process/proc_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
    STAT_BYTES = 1024,
};

/* A recorder updates the heartbeat every 20 ms, with --sample-bytes every 100 ms, unless it is
 * delayed. */
static const long heartbeat_ns = 300000000;

static const int64_t second_ns = 1000000000;

/* The clocks are read one after the other, and ticks are coarse. */
static const int64_t slack_ns = 1000000000;

/* The wall clock may have been set since. */
static const int64_t set_clock_ns = 3600 * (int64_t)1000000000;

/* In another PID namespace (unshare -pf without --mount-proc) /proc may show other processes under
 * our PIDs. */
static bool has_own_proc(void)
{
    char text[16];

    return file_io_link_target("/proc/self", text, sizeof(text))
           && strtol(text, NULL, 10) == getpid();
}

/* The text after the name in /proc/PID/stat; NULL if there is no such process. */
static const char *read_stat(pid_t pid, char *text, int n_bytes)
{
    char path[64];
    FILE *file;
    const char *at;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = has_own_proc() ? fopen(path, "re") : NULL;
    if (!file)
        return NULL;
    at = fgets(text, n_bytes, file) ? strrchr(text, ')') : NULL;
    fclose(file);
    return at ? at + 1 : NULL;
}

/* kill needs no descriptor, and also finds processes hidden in /proc. */
static bool is_no_process(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

enum writer_liveness_state writer_liveness_of_pid(pid_t pid)
{
    char text[STAT_BYTES];
    const char *at;
    char state;
    long n_threads;

    if (pid <= 0)
        return WRITER_LIVENESS_UNKNOWN;
    if (is_no_process(pid))
        return WRITER_LIVENESS_DEAD;
    at = read_stat(pid, text, sizeof(text));
    if (!at
        || sscanf(at, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
                  &state, &n_threads)
               != 2)
        return is_no_process(pid) ? WRITER_LIVENESS_DEAD : WRITER_LIVENESS_UNKNOWN;
    return (state == 'Z' || state == 'X') && n_threads <= 1 ? WRITER_LIVENESS_DEAD
                                                            : WRITER_LIVENESS_ALIVE;
}

bool writer_liveness_is_alive(pid_t pid)
{
    return writer_liveness_of_pid(pid) != WRITER_LIVENESS_DEAD;
}

/* A process never changes its PID namespace. */
uint32_t writer_liveness_pid_space(void)
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

bool writer_liveness_knows_pid(const struct log_header *header)
{
    return header->pid_space == 0 || header->pid_space == writer_liveness_pid_space();
}

/* The kernel grants a lease only while no other process has the file open in a conflicting way. The
 * lease is released immediately; a process that opens the file in between waits for that. */
enum writer_liveness_state writer_liveness_of_file(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    int lease = (flags & O_ACCMODE) == O_RDONLY ? F_RDLCK : F_WRLCK;
    struct statfs status;

    if (flags < 0 || fstatfs(fd, &status) != 0
        || !file_systems_tells_who_has_it_open((uint64_t)status.f_type))
        return WRITER_LIVENESS_UNKNOWN;
    (void)fcntl(fd, F_SETSIG, SIGURG); /* signal for a conflicting open; SIGIO would end us */
    if (fcntl(fd, F_SETLEASE, lease) != 0)
        return errno == EAGAIN ? WRITER_LIVENESS_ALIVE : WRITER_LIVENESS_UNKNOWN;
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    return WRITER_LIVENESS_DEAD;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return now.tv_sec * second_ns + now.tv_nsec;
}

/* When the process started, by CLOCK_BOOTTIME; negative: unknown. */
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

static bool is_of_earlier_boot(const struct log_header *header)
{
    int64_t boot_unix_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);

    return header->start_unix_ns != 0
           && (int64_t)header->start_unix_ns < boot_unix_ns - set_clock_ns;
}

/* CLOCK_MONOTONIC stops while the machine sleeps. A sleep since the log began makes the process
 * look older than it is, never younger. */
static bool began_before_log(int64_t process_ns, const struct log_header *header)
{
    int64_t process_monotonic_ns =
        process_ns - (clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC));

    if (is_of_earlier_boot(header))
        return false;
    return process_monotonic_ns <= (int64_t)header->start_monotonic_ns + slack_ns;
}

bool writer_liveness_writes(pid_t pid, const struct log_header *header)
{
    if (pid <= 0 || !writer_liveness_is_alive(pid))
        return false;
    if (header->start_unix_ns == 0 || header->start_monotonic_ns == 0)
        return true; /* empty file */
    int64_t process_ns = started_ns(pid);
    return process_ns < 0 || began_before_log(process_ns, header);
}

struct sought_file {
    struct process_mapped_file file;
    bool is_seen; /* at least one mapping */
    bool is_found;
};

static bool compare_file(const struct process_mapping *mapping, void *context)
{
    struct sought_file *sought = context;

    sought->is_seen = true;
    sought->is_found = process_mapping_is_of(mapping, &sought->file);
    return !sought->is_found;
}

/* If the main thread has ended and others run, the maps are empty. */
bool writer_liveness_maps(pid_t pid, int fd, bool *ret_is_known)
{
    struct sought_file sought = {.is_seen = false};

    if (pid > 0 && has_own_proc() && process_maps_find_file(fd, &sought.file))
        (void)process_maps_visit(pid, compare_file, &sought);
    if (ret_is_known)
        *ret_is_known = sought.is_seen;
    return sought.is_found;
}

/* ---- writers of a log ------------------------------------------------------------------------ */

/* Has the process with this PID of our own PID namespace the log in this file mapped?
 * WRITER_LIVENESS_UNKNOWN: it is alive, but its mappings are not visible. */
static enum writer_liveness_state look_at_named(const struct log_header *header, pid_t pid, int fd)
{
    bool is_known;

    if (writer_liveness_maps(pid, fd, &is_known))
        return WRITER_LIVENESS_ALIVE;
    return is_known || !writer_liveness_writes(pid, header) ? WRITER_LIVENESS_DEAD
                                                            : WRITER_LIVENESS_UNKNOWN;
}

static enum writer_liveness_state look_at_own(const struct log_header *header, int fd,
                                              bool must_map)
{
    pid_t pid = (pid_t)header->pid;
    enum writer_liveness_state state =
        must_map ? look_at_named(header, pid, fd) : WRITER_LIVENESS_UNKNOWN;

    return state == WRITER_LIVENESS_UNKNOWN ? writer_liveness_of_pid(pid) : state;
}

/* RU-3. The clock may be set ahead, so a process that maps the file was looked for before. */
static bool is_too_old(const struct log_header *header, int fd)
{
    struct statfs status;

    return is_of_earlier_boot(header) && fstatfs(fd, &status) == 0
           && !file_systems_is_shared_by_machines((uint64_t)status.f_type);
}

static enum writer_liveness_state look_elsewhere(const struct log_header *header, int fd,
                                                 bool must_map)
{
    enum writer_liveness_state state = writer_liveness_of_file(fd);

    return state == WRITER_LIVENESS_UNKNOWN && must_map && is_too_old(header, fd)
               ? WRITER_LIVENESS_DEAD
               : state;
}

struct namesake {
    const char *name;
    bool is_found;
};

static bool compare_name(const struct process_mapping *mapping, void *context)
{
    struct namesake *sought = context;

    sought->is_found =
        mapping->permissions[3] == 's' && strcmp(basename(mapping->path), sought->name) == 0;
    return !sought->is_found;
}

/* RU-2. On overlayfs a process maps another file than that of the lower layer, under the same
 * name. */
static bool maps_namesake(pid_t pid, int fd)
{
    struct namesake sought = {.is_found = false};
    char link[64];
    char name[PATH_MAX];

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (!file_io_link_target(link, name, sizeof(name)))
        return false;
    sought.name = basename(name);
    (void)process_maps_visit(pid, compare_name, &sought);
    return sought.is_found;
}

/* RU-2. A log without a namespace may be from another one. */
static enum writer_liveness_state look_at_log(const struct log_header *header, int fd,
                                              bool must_map)
{
    enum writer_liveness_state by_pid;
    enum writer_liveness_state by_file;

    if (!writer_liveness_knows_pid(header))
        return look_elsewhere(header, fd, must_map);
    by_pid = look_at_own(header, fd, must_map);
    if (by_pid == WRITER_LIVENESS_ALIVE
        || (by_pid == WRITER_LIVENESS_DEAD && header->pid_space
            && !(must_map && maps_namesake((pid_t)header->pid, fd))))
        return by_pid;
    by_file = writer_liveness_of_file(fd);
    return by_file == WRITER_LIVENESS_UNKNOWN ? by_pid : by_file;
}

enum writer_liveness_state writer_liveness_of_program(const struct log_header *header, int fd)
{
    return look_at_log(header, fd, false);
}

enum writer_liveness_state writer_liveness_of_writer(const struct log_header *header, int fd)
{
    return look_at_log(header, fd, true);
}

enum writer_liveness_state writer_liveness_of_recorder(const struct log_header *header, int fd)
{
    pid_t pid = (pid_t)atomic_load_explicit(&header->recorder_pid, memory_order_relaxed);

    return look_at_named(header, pid, fd);
}

static bool read_heartbeat(int fd, uint32_t *ret_heartbeat)
{
    const off_t offset = LOG_MAILBOX_OFFSET + (off_t)offsetof(struct log_mailbox, heartbeat);

    return pread(fd, ret_heartbeat, sizeof(*ret_heartbeat), offset) == sizeof(*ret_heartbeat);
}

bool recorder_heartbeat_advances(int fd)
{
    const struct timespec pause = {.tv_nsec = heartbeat_ns / 10};
    uint32_t first = 0;
    uint32_t now = 0;

    if (!read_heartbeat(fd, &first))
        return false;
    now = first;
    for (int i = 0; i < 10 && now == first && read_heartbeat(fd, &now); i++)
        nanosleep(&pause, NULL);
    return now != first;
}

/* A process cannot even start without page faults, and those of waited-for children are added
 * up. */
bool writer_liveness_has_waited(pid_t pid)
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

/* exit_code is the last field. The kernel shows 0 to processes without permission, so 0 means
 * unknown. */
bool writer_liveness_find_status(pid_t pid, int *ret_wait_status)
{
    char text[STAT_BYTES];
    const char *at = read_stat(pid, text, sizeof(text));
    const char *last = at ? strrchr(at, ' ') : NULL;

    return last && at[1] == 'Z' && sscanf(last, "%d", ret_wait_status) == 1
           && *ret_wait_status != 0;
}

/* ---- the lock of a packed log ---------------------------------------------------------------- */

bool file_lock_take(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool file_lock_is_held(int fd)
{
    bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

    if (!is_held)
        (void)flock(fd, LOCK_UN);
    return is_held;
}

bool file_lock_is_taken(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be a pipe */
    bool is_taken;

    if (fd < 0)
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    is_taken = file_lock_is_held(fd);
    close(fd);
    return is_taken;
}

/* ---- opening a log --------------------------------------------------------------------------- */

static const uint64_t time_limit_ns = 2000000000;

int writer_liveness_open_at(int folder, const char *name, int flags)
{
    static const struct timespec pause = {.tv_nsec = 500000};
    const uint64_t until_ns = monotonic_now_ns() + time_limit_ns;
    int fd = openat(folder, name, flags);

    while (fd < 0 && errno == EWOULDBLOCK && monotonic_now_ns() < until_ns) {
        nanosleep(&pause, NULL);
        fd = openat(folder, name, flags);
    }
    return fd;
}

int writer_liveness_open(const char *path, int flags)
{
    return writer_liveness_open_at(AT_FDCWD, path, flags);
}
