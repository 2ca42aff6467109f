/* SPDX-License-Identifier: MIT */
/*
 * mapped_objects: the executables and libraries that a recorded process has now, for a sender that cannot read any more what its log named.
 *
 * Model:   who has the live log mapped (PATH.live) is the process that writes it; its other mappings say which files it runs.
 * Invariants
 *   MJ-1 A file is named only if it is the very one that is mapped: regular, of the same device and inode. Where another process has the pid by now,
 *        nothing is.
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_MAPPED_OBJECTS_H
#define MTRACE_REMOTE_MAPPED_OBJECTS_H

#include "remote/wire/build_id.h"

#include <sys/types.h>

/* Hands out each that has a build id, once or several times; `path` is the visitor's for the time of the call. */
void mapped_objects_visit(const char *log_path, pid_t pid,
                          void (*take)(void *context, const struct build_id *id, const char *path),
                          void *context);

#endif
