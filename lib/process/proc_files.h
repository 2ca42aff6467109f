/* SPDX-License-Identifier: MIT */
/*
 * proc_files: what /proc says about a process: its mappings, and the status of its threads.
 *
 * The device and number of a file in /proc/PID/maps differ from those of stat on some file systems
 * (btrfs, overlayfs). process_maps_find_file maps an open file to learn them.
 *
 * Any thread. False: the file cannot be read, because the process has exited or access is denied.
 */
#ifndef MTRACE_LIB_PROC_FILES_H
#define MTRACE_LIB_PROC_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- mappings ---- */

struct process_mapping {
    uint64_t start, end;
    char permissions[5];    /* "rw-p" */
    uint64_t offset;        /* in the file */
    uint64_t device, inode; /* of the file */
    const char *path;       /* "": no file; valid until the next mapping */
};

/* Parses a line of maps, or the first line of a mapping in smaps. Cuts the line at its end. False:
 * another kind of line. */
bool process_maps_parse(char *line, struct process_mapping *ret_mapping);

struct process_mapped_file {
    uint64_t device, inode;
};

/* Calls `visit` in address order until it returns false. pid 0: this process, whatever PID
 * namespace /proc shows. */
bool process_maps_visit(pid_t pid,
                        bool (*visit)(const struct process_mapping *mapping, void *context),
                        void *context);

/* The kernel reports a mapping again if it grew between two reads of maps or smaps. True: `next`
 * replaces `last`. False: both are valid; `last` is cut where `next` starts. */
bool process_mapping_is_replaced(struct process_mapping *last, const struct process_mapping *next);

/* Device and number that mappings of an open file have. False: it cannot be mapped. */
bool process_maps_find_file(int fd, struct process_mapped_file *ret_file);

/* Compares the device, too: two volumes of one btrfs may have files with the same number. */
static inline bool process_mapping_is_of(const struct process_mapping *mapping,
                                         const struct process_mapped_file *file)
{
    return mapping->device == file->device && mapping->inode == file->inode;
}

/* ---- threads ---- */

struct thread_status {
    char state; /* 'T': a signal stopped it */
    int tracer; /* 0: none */
    uid_t uid;  /* effective, current */
    unsigned seccomp, n_filters;
    bool has_shadow_stack;
};

/* The threads of a process, to be freed. -1: the list is incomplete, for lack of memory or a read
 * error; 0: no such process. */
ssize_t process_threads_list(pid_t pid, pid_t **ret_tids);

/* From /proc/PID/task/TID/status. Those of a process are those of its first thread. */
bool thread_status_read(pid_t pid, pid_t tid, struct thread_status *ret_status);

/* The thread has a seccomp filter that the caller has not. Filters belong to a thread, and only
 * their number is visible. */
bool thread_status_is_filtered(const struct thread_status *status);

#endif
