/* SPDX-License-Identifier: MIT */
#include "recorder/session/mapped_log.h"

#include "lib/base/file_io.h"
#include "lib/logfile/log_header.h"
#include "lib/logfile/log_name.h"
#include "lib/process/writer_liveness.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ROOT_BYTES = 32
};

/* Path prefix of the process's root directory; "" for our own. */
static void get_root(pid_t pid, bool is_elsewhere, char root[ROOT_BYTES])
{
    root[0] = '\0';
    if (is_elsewhere)
        (void)snprintf(root, ROOT_BYTES, "/proc/%d/root", (int)pid);
}

static int open_below(const char *root, const char *name)
{
    char path[ROOT_BYTES + PATH_MAX];
    struct stat status;
    int fd = -1;

    if (snprintf(path, sizeof(path), "%s%s", root, name) < (int)sizeof(path))
        file_io_open_regular_foreign(path, &fd, &status);
    return fd;
}

/* A file without a header cannot be compared, and must not be written to. */
static bool has_run_id(pid_t pid, uint64_t header_address, uint64_t run_id)
{
    char path[64];
    uint64_t mapped_id = 0;
    int fd;
    bool is_it;

    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    is_it = fd >= 0
            && pread(fd, &mapped_id, sizeof(mapped_id),
                     (off_t)(header_address + offsetof(struct log_header, run_id)))
                   == sizeof(mapped_id)
            && mapped_id == run_id;
    if (fd >= 0)
        close(fd);
    return is_it;
}

/* ML-1 */
static bool is_mapped(const struct mapped_log *log, int fd, const struct process_mapping *mapping,
                      struct log_header *ret_header)
{
    struct process_mapped_file file;

    return process_maps_find_file(fd, &file) && process_mapping_is_of(mapping, &file)
           && pread(fd, ret_header, sizeof(*ret_header), 0) == (ssize_t)sizeof(*ret_header)
           && log_header_is_ours(ret_header) && mapping->offset == 0
           && has_run_id(log->pid, mapping->start, ret_header->run_id);
}

/* False: under this root the name leads to another file, or to none. */
static bool open_from(struct mapped_log *log, bool is_elsewhere, const char *name,
                      const struct process_mapping *mapping)
{
    char root[ROOT_BYTES];
    int fd;

    get_root(log->pid, is_elsewhere, root);
    fd = open_below(root, name);
    if (fd >= 0 && !is_mapped(log, fd, mapping, &log->header)) {
        close(fd);
        fd = -1;
    }
    log->fd = fd;
    log->is_elsewhere = is_elsewhere;
    return fd >= 0;
}

static bool is_deleted(const char *path)
{
    static const char deleted[] = " (deleted)";
    const size_t n = strlen(path);

    return n >= sizeof(deleted) && strcmp(path + n + 1 - sizeof(deleted), deleted) == 0;
}

/* In /proc/PID/maps, \012 may be literal text or a newline; the link in map_files is
 * unambiguous. */
static bool read_name(pid_t pid, const struct process_mapping *mapping, char ret_name[PATH_MAX])
{
    char link[96];

    (void)snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
                   mapping->start, mapping->end);
    return file_io_link_target(link, ret_name, PATH_MAX);
}

static bool open_either(struct mapped_log *log, const char *name,
                        const struct process_mapping *mapping)
{
    bool is_open = open_from(log, false, name, mapping) || open_from(log, true, name, mapping);

    if (is_open)
        log->name = strdup(name);
    return is_open;
}

static bool open_any(struct mapped_log *log, const struct process_mapping *mapping)
{
    char name[PATH_MAX];

    return open_either(log, mapping->path, mapping)
           || (strchr(mapping->path, '\\') && read_name(log->pid, mapping, name)
               && open_either(log, name, mapping));
}

void mapped_log_take(struct mapped_log *log, pid_t pid, const struct process_mapping *mapping)
{
    bool is_open;

    if (mapping->path[0] != '/')
        return;
    log->pid = pid;
    is_open = open_any(log, mapping);
    log->is_live = log_name_is_live(mapping->path);
    log->is_writing = log->is_live || is_open;
    if (log->is_writing && !log->name && !is_deleted(mapping->path))
        log->name = strdup(mapping->path);
}

/* FILE for a log FILE.live. If the log had to be created elsewhere (live_log.h), it has another
 * name. */
static bool is_packed_log_locked(const struct mapped_log *log)
{
    static const char suffix[] = ".live";
    const size_t n_suffix = sizeof(suffix) - 1;
    const size_t n = strlen(log->name);
    char root[ROOT_BYTES];
    char name[PATH_MAX];
    bool is_locked = false;
    int fd = -1;

    get_root(log->pid, log->is_elsewhere, root);
    if (n > n_suffix && n < sizeof(name) && strcmp(log->name + n - n_suffix, suffix) == 0) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)(n - n_suffix), log->name);
        fd = open_below(root, name);
    }
    if (fd >= 0) {
        is_locked = file_lock_is_held(fd);
        close(fd);
    }
    return is_locked;
}

bool mapped_log_is_recorded(const struct mapped_log *log)
{
    if (log->fd < 0 || !log->name
        || atomic_load_explicit(&log->header.recorder_pid, memory_order_relaxed) == 0)
        return false;
    return is_packed_log_locked(log)
           || writer_liveness_of_recorder(&log->header, log->fd) != WRITER_LIVENESS_DEAD
           || recorder_heartbeat_advances(log->fd);
}

int mapped_log_open(const struct mapped_log *log, struct live_log *ret_live, struct error *err)
{
    char path[64];
    int code;

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", log->fd);
    code = live_log_open(path, true, ret_live, err);
    if (code == 0 && ret_live->seen.run_id != log->header.run_id) {
        live_log_close(ret_live);
        code = error_set(err, ERROR_FORMAT, "'%s' was replaced by another log", log->name);
    }
    return code;
}

void mapped_log_done(struct mapped_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    free(log->name);
    *log = (struct mapped_log){.fd = -1};
}
