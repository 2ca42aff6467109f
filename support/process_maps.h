/* SPDX-License-Identifier: MIT */
/*
 * process_maps: the mappings of a process, as /proc/PID/maps has them.
 *
 * Threads: any. Failure: false: it cannot be read.
 */
#ifndef MTRACE_SUPPORT_PROCESS_MAPS_H
#define MTRACE_SUPPORT_PROCESS_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_mapping {
    uint64_t start, end;
    char permissions[5]; /* "rw-p" */
    uint64_t offset;     /* in the file */
    uint64_t device,
        inode; /* of the file, as stat has them (but on file systems with devices of their own for each of their volumes) */
    const char *path; /* "": of no file; valid until the next one */
};

/* Of a line of maps, or of the first one of a mapping in smaps, which it cuts at its end; false: it is another one. */
bool process_maps_parse(char *line, struct process_mapping *ret_mapping);

/* In order of addresses, until `visit` answers false. */
bool process_maps_visit(pid_t pid,
                        bool (*visit)(const struct process_mapping *mapping, void *context),
                        void *context);

#endif
