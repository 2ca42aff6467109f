/* SPDX-License-Identifier: MIT */
/*
 * module_files: keeps symbol tables of modules whose files are deleted or replaced during the run.
 *
 * The collector copies only files that have gone, or that may go soon, when it defines a module
 * (collector/log/module_file.h). Every other file is opened here when the recorder reads the
 * definition, because a descriptor keeps a deleted file readable. When the path no longer names the
 * file, its headers and symbol tables are copied into a log of the run. The debug sections are
 * copied, too, if all of it is at most MODULE_FILES_DEBUG_BYTES.
 *
 * Invariants
 *   MD-1 The key of a copy is computed from the file that is copied, so a file that was replaced
 *        before it was opened is never taken for the module's.
 *   MD-2 All logs of a run share the descriptors and the limit of bytes: a file is copied once.
 *
 * Missing: 32-bit files, files that were overwritten in place, and a file that goes within the
 * milliseconds before its definition is read. A recorder that is killed loses what it holds.
 * Threads: one. On failure the log lacks the copy.
 */
#ifndef MTRACE_RECORDER_MODULE_FILES_H
#define MTRACE_RECORDER_MODULE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODULE_FILES_MAX = 512,                      /* descriptors, and a quarter of RLIMIT_NOFILE */
    MODULE_FILES_MIN = 64,                       /* none below this limit of descriptors */
    MODULE_FILES_DEBUG_BYTES = 16 * 1024 * 1024, /* compressed by zstd in the log */
};

struct module_files;

/* max_bytes: limit of all copies together; 0: none. NULL without memory; free takes NULL. */
struct module_files *module_files_new(uint64_t max_bytes);
void module_files_free(struct module_files *files);

/* Opens the executable that will run. Later it may be gone before its definition is read. */
void module_files_open(struct module_files *files, const char *path);

/* Opens the files of modules that n_bytes of definitions name. */
void module_files_learn(struct module_files *files, const void *payload, size_t n_bytes);

/* Appends n_bytes of a DEFS payload to a log; false: it was not written. */
typedef bool module_files_write(void *context, const void *payload, uint32_t n_bytes);

/* Copies files that are gone. Every few seconds, or now. */
void module_files_step(struct module_files *files, uint64_t now_ns, module_files_write *write,
                       void *context);
void module_files_flush(struct module_files *files, module_files_write *write, void *context);

/* The first file for which the limit of bytes was too small; NULL: none. */
const char *module_files_unkept(const struct module_files *files);

#endif
