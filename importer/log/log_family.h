/* SPDX-License-Identifier: MIT */
/*
 * log_family: the files beside a log that may be logs of its processes' children, by name.
 *
 * Model:   the log of a child or of an image after exec is called FIRST.<pid>.<image>, FIRST being
 *          the first log of the run; with ".live" behind it while it is a pool. Whether such a file
 *          really belongs to the run its header says (parent_run_id).
 * Failure: ERROR_NOMEM; a folder that cannot be read has no files.
 */
#ifndef MTRACE_IMPORTER_LOG_FAMILY_H
#define MTRACE_IMPORTER_LOG_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#define LOG_FAMILY_POOL_SUFFIX ".live"

struct log_family {
    char **paths; /* sorted */
    size_t n, capacity;
};

/* All files beside `path` that are named as its family; `path` may be any member of it. */
int log_family_find(const char *path, struct log_family *ret);
void log_family_done(struct log_family *family);

/* Bytes of `path` up to the end of the first log's name. */
size_t log_family_first_bytes(const char *path);

/* Is it named as a pool, which its recorder removes when all of it is packed? */
bool log_family_is_pool(const char *path);

/* Bytes of `path` that name the packed file of the log, which it is, or is the pool of. */
size_t log_family_packed_bytes(const char *path);

/* That name; the caller frees it, NULL without memory. */
char *log_family_packed_path(const char *path);

/* That of the state of its run (lib/logfile/log_rotation.h), which is beside the first log; the same. */
char *log_family_state_path(const char *path);

#endif
