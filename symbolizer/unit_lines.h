/* SPDX-License-Identifier: MIT */
/*
 * unit_lines: files, lines and columns of one compilation unit.
 *
 * Model: the line table as libdw decodes it, and the normalized path of each file, made when first
 *        asked for.
 * Invariants: UL-1 a path stays valid as long as the struct intern it was put into.
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

/* `skeleton` has the line table; `unit` is the same DIE, or the split unit that belongs to it. */
int unit_lines_read(struct unit_lines *lines, Dwarf_Die *skeleton, Dwarf_Die *unit,
                    struct error *err);

/* The last row at or before the address; all unknown between sequences. */
int unit_lines_find(struct unit_lines *lines, uint64_t address, struct source_line *ret_line,
                    struct error *err);

/* Path of a DW_AT_call_file; NULL where there is none. */
int unit_lines_file(struct unit_lines *lines, size_t file, const char **ret_source,
                    struct error *err);

void unit_lines_done(struct unit_lines *lines);

#endif
