/* SPDX-License-Identifier: MIT */
#include "remote/sender/mapped_objects.h"

#include "lib/base/file_io.h"
#include "lib/process/proc_files.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct visit {
    void (*take)(void *context, const struct build_id *id, const char *path);
    void *context;
    uint64_t device, inode; /* of the last file; of the live log while that is searched */
    bool has_log;
};

static bool is_same(const struct visit *visit, const struct process_mapping *mapping)
{
    return mapping->device == visit->device && mapping->inode == visit->inode;
}

static bool seek_log(const struct process_mapping *mapping, void *context)
{
    struct visit *visit = context;

    visit->has_log = is_same(visit, mapping);
    return !visit->has_log;
}

/* Mappings of one file are adjacent. */
static bool look(const struct process_mapping *mapping, void *context)
{
    struct visit *visit = context;
    struct stat status;
    struct build_id id;
    int fd = -1;

    if (mapping->path[0] != '/' || is_same(visit, mapping))
        return true;
    visit->device = mapping->device;
    visit->inode = mapping->inode;
    file_io_open_regular_foreign(mapping->path, &fd, &status);
    if (fd < 0)
        return true;
    if (status.st_dev == mapping->device && status.st_ino == mapping->inode
        && build_id_read(fd, &id))
        visit->take(visit->context, &id, mapping->path);
    close(fd);
    return true;
}

void mapped_objects_visit(const char *log_path, pid_t pid,
                          void (*take)(void *context, const struct build_id *id, const char *path),
                          void *context)
{
    struct visit visit = {.take = take, .context = context};
    char live[PATH_MAX];
    struct stat status;

    if (snprintf(live, sizeof(live), "%s.live", log_path) >= (int)sizeof(live)
        || stat(live, &status) != 0)
        return;
    visit.device = status.st_dev;
    visit.inode = status.st_ino;
    if (process_maps_visit(pid, seek_log, &visit) && visit.has_log)
        (void)process_maps_visit(pid, look, &visit);
}
