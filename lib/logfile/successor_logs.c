/* SPDX-License-Identifier: MIT */
#include "lib/logfile/successor_logs.h"

#include "lib/abi/log_format.h"
#include "lib/base/dynamic_array.h"
#include "lib/logfile/live_log.h"
#include "lib/logfile/log_header.h"
#include "lib/logfile/log_rotation.h"
#include "lib/process/writer_liveness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct later_log {
    uint64_t run_id;
    uint64_t parent_run_id;
    char *name;
    char *target; /* target of its link if it is in shared memory; NULL: no link */
    size_t rank;  /* order in the run, from 1 on; 0: not of the run */
    bool is_packed;
    bool is_growing;
};

struct successor_logs {
    struct later_log *logs;
    size_t n;
    size_t capacity;
};

bool successor_logs_is_name(const char *first, const char *name, const char *suffix)
{
    size_t n_first = strlen(first);
    const char *at = name + n_first;

    if (strncmp(name, first, n_first) != 0)
        return false;
    for (int i = 0; i < 2; i++) { /* PID and N */
        size_t n = *at == '.' ? strspn(at + 1, "0123456789") : 0;
        if (n == 0)
            return false;
        at += n + 1;
    }
    return strcmp(at, suffix) == 0;
}

pid_t successor_logs_get_pid(const char *first, const char *name)
{
    return (pid_t)strtol(name + strlen(first) + 1, NULL, 10);
}

/* FILE.report.N.txt of periodic_reports.h, or a partial one left by a killed recorder. */
static bool is_report_name(const char *first, const char *name)
{
    static const char report[] = ".report.";
    size_t n_first = strlen(first);
    size_t n_digits;

    if (strncmp(name, first, n_first) != 0 || strncmp(name + n_first, report, strlen(report)) != 0)
        return false;
    name += n_first + strlen(report);
    n_digits = strspn(name, "0123456789");
    return n_digits
           && (strcmp(name + n_digits, ".txt") == 0 || strcmp(name + n_digits, ".txt.part") == 0);
}

/* *ret_is_growing (or NULL): its program may still write to it. */
static bool read_header(int folder, const char *name, struct log_header *ret_file,
                        bool *ret_is_growing)
{
    int fd = writer_liveness_open_at(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool is_log = fd >= 0 && pread(fd, ret_file, sizeof(*ret_file), 0) == sizeof(*ret_file)
                  && log_header_is_ours(ret_file);

    if (is_log && ret_is_growing)
        *ret_is_growing = ret_file->form == LOG_FORM_RAW
                          && writer_liveness_of_writer(ret_file, fd) != WRITER_LIVENESS_DEAD;
    if (fd >= 0)
        close(fd);
    return is_log;
}

static char *find_target(const char *folder_path, const char *name)
{
    char *path;
    char *target;

    if (asprintf(&path, "%s%s", folder_path, name) < 0)
        return NULL;
    target = live_log_follow(path);
    free(path);
    return target;
}

/* `log` has its name and the target of its link. */
static void add(struct successor_logs *list, int folder, struct later_log *log)
{
    struct log_header file;
    struct later_log *logs;

    if (!log->name
        || !read_header(folder, log->target ? log->target : log->name, &file, &log->is_growing)
        || !(logs =
                 dynamic_array_reserve(list->logs, &list->capacity, list->n + 1, sizeof(*logs)))) {
        free(log->name);
        free(log->target);
        return;
    }
    log->run_id = file.run_id;
    log->parent_run_id = file.parent_run_id;
    log->is_packed = file.form == LOG_FORM_PACKED;
    list->logs = logs;
    logs[list->n++] = *log;
}

static void find_all(struct successor_logs *list, const char *folder_path, DIR *folder,
                     const char *first)
{
    const struct dirent *entry;

    while ((entry = readdir(folder))) {
        struct later_log log = {.rank = 0};
        bool is_live = successor_logs_is_name(first, entry->d_name, ".live");
        if (!is_live && !successor_logs_is_name(first, entry->d_name, ""))
            continue;
        log.name = strdup(entry->d_name);
        log.target = is_live ? find_target(folder_path, entry->d_name) : NULL;
        add(list, dirfd(folder), &log);
    }
}

/* Numbers the logs of processes begun by those of the run, until there are no more. */
static void mark(struct successor_logs *list, uint64_t run_id, size_t *n_of_run)
{
    for (size_t i = 0; run_id && i < list->n; i++)
        if (list->logs[i].rank == 0 && list->logs[i].parent_run_id == run_id) {
            list->logs[i].rank = ++*n_of_run;
            mark(list, list->logs[i].run_id, n_of_run);
        }
}

static void remove_reports(DIR *folder, const char *first)
{
    const struct dirent *entry;

    rewinddir(folder);
    while ((entry = readdir(folder)))
        if (is_report_name(first, entry->d_name))
            unlinkat(dirfd(folder), entry->d_name, 0);
}

static void move_reports(DIR *folder, const char *first, const char *new_path)
{
    const struct dirent *entry;

    rewinddir(folder);
    while ((entry = readdir(folder))) {
        char *to = NULL;
        if (!is_report_name(first, entry->d_name)
            || asprintf(&to, "%s%s", new_path, entry->d_name + strlen(first)) < 0)
            continue;
        (void)renameat(dirfd(folder), entry->d_name, AT_FDCWD, to);
        free(to);
    }
}

static int by_rank(const void *a, const void *b)
{
    const struct later_log *left = a;
    const struct later_log *right = b;

    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Finds the logs of the run in `path`; false: it is not a log. The caller closes the folder. */
static bool find_run(const char *path, struct successor_logs *list, char **ret_folder_path,
                     DIR **ret_folder)
{
    const char *slash = strrchr(path, '/');
    const char *first = slash ? slash + 1 : path;
    struct log_header file;
    size_t n_of_run = 0;

    *list = (struct successor_logs){0};
    *ret_folder_path = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
    *ret_folder = *ret_folder_path ? opendir(*ret_folder_path) : NULL;
    if (!*ret_folder || !read_header(dirfd(*ret_folder), first, &file, NULL))
        return false;
    find_all(list, *ret_folder_path, *ret_folder, first);
    mark(list, file.run_id, &n_of_run);
    if (list->n)
        qsort(list->logs, list->n, sizeof(*list->logs), by_rank);
    return true;
}

static void done(struct successor_logs *list, char *folder_path, DIR *folder)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->logs[i].name);
        free(list->logs[i].target);
    }
    if (folder)
        closedir(folder);
    free(list->logs);
    free(folder_path);
}

static void remove_ring(const char *folder_path, const char *name)
{
    char *path;

    if (asprintf(&path, "%s%s", folder_path, name) < 0)
        return;
    log_rotation_remove(path);
    free(path);
}

void successor_logs_remove(const char *path)
{
    char *folder_path;
    DIR *folder;
    struct successor_logs list;

    if (find_run(path, &list, &folder_path, &folder))
        remove_reports(folder, basename(path));
    for (size_t i = 0; i < list.n; i++) {
        const struct later_log *log = &list.logs[i];
        if (log->rank == 0 || log->is_growing)
            continue;
        if (log->target)
            unlink(log->target);
        unlinkat(dirfd(folder), log->name, 0);
        remove_ring(folder_path, log->name);
    }
    done(&list, folder_path, folder);
}

static void move_log(const char *folder_path, const char *name, const char *rest,
                     const char *new_path)
{
    char *from = NULL;
    char *to = NULL;

    if (asprintf(&from, "%s%s", folder_path, name) >= 0
        && asprintf(&to, "%s%s", new_path, rest) >= 0) {
        log_rotation_move(from, to);
        (void)rename(from, to);
        free(to);
    }
    free(from);
}

void successor_logs_move(const char *path, const char *new_path)
{
    const char *first = basename(path);
    char *folder_path;
    DIR *folder;
    struct successor_logs list;

    if (find_run(path, &list, &folder_path, &folder))
        move_reports(folder, first, new_path);
    for (size_t i = 0; i < list.n; i++)
        if (list.logs[i].rank && list.logs[i].is_packed)
            move_log(folder_path, list.logs[i].name, list.logs[i].name + strlen(first), new_path);
    done(&list, folder_path, folder);
}

void successor_logs_find(const char *path, bool is_packed,
                         void (*found)(void *context, const char *path), void *context)
{
    char *folder_path;
    DIR *folder;
    struct successor_logs list;

    (void)find_run(path, &list, &folder_path, &folder);
    for (size_t i = 0; i < list.n; i++) {
        const struct later_log *log = &list.logs[i];
        char *whole = NULL;
        if (log->rank == 0 || log->is_packed != is_packed
            || asprintf(&whole, "%s%s", folder_path, log->name) < 0)
            continue;
        found(context, whole);
        free(whole);
    }
    done(&list, folder_path, folder);
}
