/* SPDX-License-Identifier: MIT */
/*
 * mapped_objects: the executables and libraries that a recorded process has mapped now, for a
 * sender that can no longer read the definitions in its log.
 *
 * The process that has the live log mapped (PATH.live) writes it; its other mappings show the files
 * it runs.
 *
 * Invariants
 *   MJ-1 A file is named only if it is the mapped one: regular, same device and inode. If another
 *        process has the PID now, none is named.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_MAPPED_OBJECTS_H
#define MTRACE_REMOTE_MAPPED_OBJECTS_H

#include "remote/wire/build_id.h"

#include <sys/types.h>

/* Calls `take` for each that has a build id, once or more; `path` is valid during the call. */
void mapped_objects_visit(const char *log_path, pid_t pid,
                          void (*take)(void *context, const struct build_id *id, const char *path),
                          void *context);

#endif
