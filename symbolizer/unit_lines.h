/* SPDX-License-Identifier: MIT */
/*
 * unit_lines: files, lines and columns of one compilation unit.
 *
 * Uses the line table as libdw decodes it. The normalized path of a file is made on first use, so
 * that each file has one spelling. Debug info names a file relative to the folder of the compiler,
 * often through several "..", and two units may spell it differently. The path is joined to that
 * folder, and "//", "." and ".." are resolved as text. The disk is not used: the sources are
 * usually not on this machine.
 *
 * Invariants
 *   UL-1 A path is valid as long as the struct intern that contains it.
 */
#ifndef MTRACE_SYMBOLIZER_UNIT_LINES_H
#define MTRACE_SYMBOLIZER_UNIT_LINES_H

#include "lib/base/error.h"
#include "lib/base/intern.h"

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct unit_lines {
    Dwarf_Lines *lines;
    size_t n_lines;
    Dwarf_Files *files; /* the numbering of DW_AT_call_file */
    size_t n_files;
    const char *directory; /* where the unit was compiled; NULL: unknown */
    struct intern *sources;
    const char **paths; /* per file, NULL: not made yet */
    size_t n_paths_allocated;
};

struct source_line {
    const char *source;
    uint32_t line;
    uint32_t column;
};

/* `skeleton` has the line table; `unit` is the same DIE or its split unit. */
int unit_lines_read(struct unit_lines *lines, Dwarf_Die *skeleton, Dwarf_Die *unit,
                    struct error *err);

/* Finds the last row at or before the address; between sequences all is unknown. */
int unit_lines_find(struct unit_lines *lines, uint64_t address, struct source_line *ret_line,
                    struct error *err);

/* Path of a DW_AT_call_file; NULL: none. */
int unit_lines_file(struct unit_lines *lines, size_t file, const char **ret_source,
                    struct error *err);

void unit_lines_done(struct unit_lines *lines);

/* Writes the normalized path, NUL-terminated, and returns its length; 0 if it does not fit in
 * `size` bytes. directory may be NULL. If both are relative the result is relative, without "./" in
 * front. */
size_t unit_lines_normalize_path(const char *directory, const char *file, char *ret_path,
                                 size_t size);

#endif
