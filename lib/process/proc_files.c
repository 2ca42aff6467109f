/* SPDX-License-Identifier: MIT */
#include "lib/process/proc_files.h"

#include "lib/base/dynamic_array.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

bool process_maps_parse(char *line, struct process_mapping *ret_mapping)
{
    unsigned major, minor;
    int at = 0;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n",
               &ret_mapping->start, &ret_mapping->end, ret_mapping->permissions,
               &ret_mapping->offset, &major, &minor, &ret_mapping->inode, &at)
            != 7
        || at == 0)
        return false;
    ret_mapping->device = makedev(major, minor);
    ret_mapping->path = line + at + strspn(line + at, " ");
    return true;
}

bool process_maps_visit(pid_t pid,
                        bool (*visit)(const struct process_mapping *mapping, void *context),
                        void *context)
{
    char path[64];
    char line[PATH_MAX + 128];
    struct process_mapping mapping;
    bool goes_on = true;
    FILE *file;

    if (pid == 0)
        (void)snprintf(path, sizeof(path), "/proc/self/maps");
    else
        (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    while (goes_on && fgets(line, sizeof(line), file))
        goes_on = !process_maps_parse(line, &mapping) || visit(&mapping, context);
    fclose(file);
    return true;
}

bool process_mapping_is_replaced(struct process_mapping *last, const struct process_mapping *next)
{
    if (next->start <= last->start)
        return true;
    if (next->start < last->end)
        last->end = next->start;
    return false;
}

struct sought_address {
    uint64_t address;
    struct process_mapped_file *ret_file;
    bool is_found;
};

static bool look_for_address(const struct process_mapping *mapping, void *context)
{
    struct sought_address *sought = context;

    sought->is_found = mapping->start <= sought->address && sought->address < mapping->end;
    if (sought->is_found)
        *sought->ret_file = (struct process_mapped_file){mapping->device, mapping->inode};
    return !sought->is_found;
}

/* None of its pages is touched. */
bool process_maps_find_file(int fd, struct process_mapped_file *ret_file)
{
    const size_t n_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, fd, 0);
    struct sought_address sought = {.address = (uint64_t)(uintptr_t)page, .ret_file = ret_file};

    if (page == MAP_FAILED)
        return false;
    (void)process_maps_visit(0, look_for_address, &sought);
    (void)munmap(page, n_bytes);
    return sought.is_found;
}

/* ---- threads ---- */

enum {
    SECCOMP_STRICT = 1,
    SECCOMP_FILTER = 2
};

ssize_t process_threads_list(pid_t pid, pid_t **ret_tids)
{
    char path[64];
    const struct dirent *entry;
    size_t n_room = 0;
    ssize_t n = 0;
    DIR *folder;

    *ret_tids = NULL;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = opendir(path);
    if (!folder)
        return errno == ENOENT ? 0 : -1;
    while (n >= 0 && (errno = 0, entry = readdir(folder))) {
        if (*entry->d_name < '0' || *entry->d_name > '9')
            continue;
        pid_t *tids = dynamic_array_reserve(*ret_tids, &n_room, (size_t)n + 1, sizeof(*tids));
        if (tids) {
            *ret_tids = tids;
            tids[n] = (pid_t)strtol(entry->d_name, NULL, 10);
        }
        n = tids ? n + 1 : -1;
    }
    n = errno && errno != ESRCH ? -1 : n; /* ESRCH: it exited in between */
    closedir(folder);
    return n;
}

bool thread_status_read(pid_t pid, pid_t tid, struct thread_status *ret_status)
{
    char path[64];
    char line[512];
    bool has_uid = false;
    FILE *file;

    *ret_status = (struct thread_status){.state = '?'};
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
    file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof(line), file)) {
        (void)sscanf(line, "State: %c", &ret_status->state);
        (void)sscanf(line, "TracerPid: %d", &ret_status->tracer);
        has_uid = sscanf(line, "Uid: %*u %u", &ret_status->uid) == 1 || has_uid;
        (void)sscanf(line, "Seccomp: %u", &ret_status->seccomp);
        (void)sscanf(line, "Seccomp_filters: %u", &ret_status->n_filters);
        if (strncmp(line, "x86_Thread_features:", 20) == 0)
            ret_status->has_shadow_stack = strstr(line, "shstk") != NULL;
    }
    fclose(file);
    return has_uid;
}

bool thread_status_is_filtered(const struct thread_status *status)
{
    struct thread_status own;

    if (status->seccomp == SECCOMP_STRICT)
        return true;
    return status->seccomp == SECCOMP_FILTER
           && (!thread_status_read(getpid(), gettid(), &own) || own.seccomp != SECCOMP_FILTER
               || own.n_filters != status->n_filters);
}
