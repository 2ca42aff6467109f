/* SPDX-License-Identifier: MIT */
/*
 * die_reader: the DIEs of one unit, read where they lie, most of them only to be skipped.
 *
 * Model:   a walk over a unit passes a hundred DIEs for one that it wants. libdw looks up the
 *          abbreviation of each several times, under a lock; here each abbreviation becomes a shape
 *          once, and a DIE costs as much as its forms. libdw still reads the attributes of those
 *          that are wanted.
 * Invariants
 *   DR-1 No byte outside the unit is read, whatever it holds.
 *   DR-2 Of successive entries each lies behind the one before, so that every walk ends.
 * Threads: one user at a time.
 * Failure: memory only; a damaged unit ends where the damage is.
 */
#ifndef MTRACE_SYMBOLIZER_DIE_READER_H
#define MTRACE_SYMBOLIZER_DIE_READER_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct die_form {
    uint16_t name;
    uint16_t form;
};

/* An abbreviation. */
struct die_shape {
    uint32_t first_form, n_forms;
    int32_t attribute_bytes; /* -1: differs from DIE to DIE */
    uint16_t tag;            /* 0: no such abbreviation */
    bool has_children;
    bool has_sibling;
    bool has_addresses; /* DW_AT_low_pc or DW_AT_ranges */
};

/* shape is valid until the next die_reader_get. */
struct die_entry {
    const unsigned char *at;
    const unsigned char *attributes;
    const struct die_shape *shape;
};

struct die_reader {
    Dwarf_Die unit;
    const unsigned char *start; /* of the unit: siblings are told from here */
    const unsigned char *end;
    uint16_t version;
    uint8_t address_bytes, offset_bytes;
    Dwarf_Off next_abbrev; /* those before are among the shapes */
    bool has_all_abbrevs;
    bool is_out_of_memory;
    struct die_shape *shapes; /* by code */
    size_t n_shapes, shapes_allocated;
    struct die_form *forms;
    size_t n_forms, forms_allocated;
};

/* Begins with the unit's own DIE; memory of the unit before is used again. False: nothing in it can
 * be read. `reader` was zeroed before its first use. */
bool die_reader_begin(struct die_reader *reader, Dwarf_Die *unit, struct die_entry *ret_entry);

/* The DIE at a place, which the functions below return. False: the end of a list of children, or
 * damage. */
bool die_reader_get(struct die_reader *reader, const unsigned char *at,
                    struct die_entry *ret_entry);

/* Where the first child lies, or without children the next DIE; NULL: damage. */
const unsigned char *die_reader_below(const struct die_reader *reader,
                                      const struct die_entry *entry);

/* Where the next DIE of the same list lies; NULL: damage. */
const unsigned char *die_reader_behind(struct die_reader *reader, const struct die_entry *entry);

/* Behind a place where die_reader_get found no DIE: NULL if it was not the end of a list. */
const unsigned char *die_reader_list_end(const struct die_reader *reader, const unsigned char *at);

/* The addresses of a DIE that has one range and says so in itself; else libdw must be asked. */
bool die_reader_range(const struct die_reader *reader, const struct die_entry *entry,
                      uint64_t *ret_start, uint64_t *ret_end);

/* The same DIE for libdw. */
Dwarf_Die die_reader_die(const struct die_reader *reader, const struct die_entry *entry);

void die_reader_done(struct die_reader *reader);

#endif
