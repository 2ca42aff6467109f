/* SPDX-License-Identifier: MIT */
/*
 * process_maps: the mappings of a process, as /proc/PID/maps has them.
 *
 * Model:   a file is known there by a device and a number, which on some file systems (btrfs, overlayfs) are not those of stat: what
 *          they are for a file that is open a mapping of our own shows.
 * Threads: any. Failure: false: it cannot be read.
 */
#ifndef MTRACE_LIB_PROCESS_MAPS_H
#define MTRACE_LIB_PROCESS_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_mapping {
    uint64_t start, end;
    char permissions[5];    /* "rw-p" */
    uint64_t offset;        /* in the file */
    uint64_t device, inode; /* of the file */
    const char *path;       /* "": of no file; valid until the next one */
};

/* Of a line of maps, or of the first one of a mapping in smaps, which it cuts at its end; false: it is another one. */
bool process_maps_parse(char *line, struct process_mapping *ret_mapping);

struct process_mapped_file {
    uint64_t device, inode;
};

/* In order of addresses, until `visit` answers false. pid 0: of ourselves, of whatever pid namespace /proc is. */
bool process_maps_visit(pid_t pid,
                        bool (*visit)(const struct process_mapping *mapping, void *context),
                        void *context);

/* What mappings of an open file have. False: it cannot be mapped. */
bool process_maps_find_file(int fd, struct process_mapped_file *ret_file);

/* Volumes of one btrfs may have a file of one number each. */
static inline bool process_mapping_is_of(const struct process_mapping *mapping,
                                         const struct process_mapped_file *file)
{
    return mapping->device == file->device && mapping->inode == file->inode;
}

#endif
