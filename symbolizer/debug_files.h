/* SPDX-License-Identifier: MIT */
/*
 * debug_files: finds and checks the ELF files of one object.
 *
 * `object` is the file that the program mapped. `debug` is the file with its DWARF, if that is
 * another one. `alternate` is the file to which dwz moved what several debug files share. They are
 * searched in this order; DIR is each --debug-dir and then /usr/lib/debug:
 *
 *   1. the object itself: below the sysroot, at its path, DIR/.build-id/xx/yyyy, DIR/<name>, any
 *      file below a --debug-dir with its build id; if that is below the sysroot and has no DWARF,
 *      the same build at its own path
 *   2. DIR/.build-id/xx/yyyy.debug
 *   3. the name in .gnu_debuglink: beside the object, in .debug beside it, in DIR/<its folder>, in
 *      DIR
 *   4. DIR/<path>.debug, DIR/<name>.debug, DIR/<name>, any file below a --debug-dir with the build
 *      id
 *   5. debuginfod; for a missing object without a debug file, the object itself
 *
 * If the object is missing, its parts in the log are used instead.
 *
 * Invariants
 *   DG-1 A file is used only if its build id is the recorded one. If one of both has no build id,
 *        only the file that .gnu_debuglink names is used, and only with the stated checksum.
 *   DG-2 note is NULL exactly if a file with DWARF was found.
 *   DG-3 A file of another architecture than the recorded one is never used.
 *   DG-4 An object without a build id, of which the log has parts, is used only if these agree.
 *
 * Errors: ERROR_NOMEM. Any other problem becomes a note.
 */
#ifndef MTRACE_SYMBOLIZER_DEBUG_FILES_H
#define MTRACE_SYMBOLIZER_DEBUG_FILES_H

#include "lib/base/error.h"
#include "symbolizer/elf_image.h"
#include "symbolizer/symbolizer_options.h"

struct debug_files {
    struct elf_image object;    /* elf is NULL: missing, or replaced since the recording */
    bool is_kept;               /* the object consists of its parts in the log */
    struct elf_image debug;     /* elf is NULL: the object has its own DWARF, or there is none */
    struct elf_image alternate; /* elf is NULL: not needed, or not found */
    char *note;
};

int debug_files_open(const struct symbolizer_options *options,
                     const struct symbolizer_object *recorded, struct debug_files *ret_files,
                     struct error *err);

/* Opens the file that .gnu_debugaltlink names, or adds a note that it is missing. `build_id` is in
 * bytes. */
int debug_files_open_alternate(struct debug_files *files, const struct symbolizer_options *options,
                               const char *dwarf_path, const char *name, const void *build_id,
                               size_t build_id_size, struct error *err);

/* The file with DWARF, NULL if there is none. */
const struct elf_image *debug_files_dwarf(const struct debug_files *files);

/* Writes a text, to be freed, that identifies the files, their versions and the reader. */
int debug_files_identify(const struct debug_files *files, char **ret_identity, struct error *err);

/* Sets the note unless there is one: later problems follow from the first. */
int debug_files_add_note(struct debug_files *files, struct error *err, const char *format, ...)
    MTRACE_PRINTF(3, 4);

void debug_files_close(struct debug_files *files);

#endif
