/* SPDX-License-Identifier: MIT */
/*
 * unit_index: finds the compilation unit of a position.
 *
 * Contains the sorted address ranges that every unit claims in its own DIE. .debug_aranges would be
 * faster to read, but some compilers omit it or leave it incomplete. DWARF 2 has no range lists: a
 * unit without ranges claims the sequences of its line table.
 * Errors: memory; unreadable units claim nothing.
 */
#ifndef MTRACE_SYMBOLIZER_UNIT_INDEX_H
#define MTRACE_SYMBOLIZER_UNIT_INDEX_H

#include "lib/base/error.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UNIT_NONE = -1
};

struct unit_range {
    uint64_t start;
    uint64_t end;
    int32_t unit;
};

struct unit_index {
    struct unit_range *ranges;
    uint64_t *reach; /* highest end of ranges[0..i] */
    size_t n_ranges;
    size_t n_allocated;
    Dwarf_Off *units; /* offset of each unit's DIE, ascending */
    size_t n_units;
    size_t n_units_allocated;
    size_t n_rows;   /* of decoded line tables */
    bool is_damaged; /* the list of units ended early */
};

int unit_index_init(struct unit_index *ret_index, Dwarf *dwarf, struct error *err);

/* Index into `units`, or UNIT_NONE. If ranges overlap, the one that starts latest is used. */
int32_t unit_index_find(const struct unit_index *index, uint64_t address);

void unit_index_done(struct unit_index *index);

#endif
