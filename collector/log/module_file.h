/* SPDX-License-Identifier: MIT */
/*
 * module_file: copies the symbol table of a module's file into the log.
 *
 * The file of a plugin may be deleted or replaced before the log is imported. So the headers and
 * symbol tables of a module are copied when it is defined, in two cases: the program opened it
 * after the start and its file changed in the last ten minutes, or there is no file at its path.
 * The debug sections of a small file are copied, too; code never is. Files that go later are left
 * to the recorder (recorder/pack/module_files.h).
 *
 * If the path does not name the loaded file, the file is opened through /proc/self/map_files. That
 * needs CAP_CHECKPOINT_RESTORE; without it the dynamic symbol table is copied from memory.
 *
 * Invariants
 *   MF-1 A process copies a file once, however often and under however many names it is loaded. A
 *        fork child does not repeat the copies of its parent: the importer shares copies between
 *        the logs of a run.
 *   MF-2 System calls read the memory of the program, so that a truncated file raises no signal.
 *
 * Threads: any; the caller has blocked signals. On failure the log lacks the copy.
 */
#ifndef MTRACE_COLLECTOR_MODULE_FILE_H
#define MTRACE_COLLECTOR_MODULE_FILE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module_file {
    uint32_t id;          /* of the module */
    uintptr_t start, end; /* where it is mapped */
    const struct link_map *map;
    const char *path;     /* ends with a NUL */
    const void *build_id; /* NULL: the file has none */
    size_t build_id_bytes;
};

/* Limit of the bytes that a process copies in total; 0: nothing is copied. */
void module_file_init(uint64_t max_bytes);

/* Writes LOG_DEF_FILE of the module, and LOG_DEF_FILE_PART records of its file if it is copied. */
void module_file_keep(const struct module_file *file);

#endif
