/* SPDX-License-Identifier: MIT */
/*
 * die_reader: reads the DIEs of one unit in place; most of them are only skipped.
 *
 * A walk over a unit passes a hundred DIEs for each one that it needs. libdw looks up the
 * abbreviation of each several times, under a lock. Here each abbreviation is decoded once, and a
 * DIE costs as much as its forms. libdw still reads the attributes of the needed ones.
 *
 * Invariants
 *   DR-1 No byte outside the unit is read, whatever it contains.
 *   DR-2 Each entry lies after the previous one, so every walk ends.
 *
 * Threads: one user at a time. Errors: memory; a damaged unit ends at the damage.
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

/* A decoded abbreviation. */
struct die_shape {
    uint32_t first_form, n_forms;
    int32_t attribute_bytes; /* -1: varies */
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
    const unsigned char *start; /* of the unit; sibling offsets are relative to it */
    const unsigned char *end;
    uint16_t version;
    uint8_t address_bytes, offset_bytes;
    Dwarf_Off next_abbrev; /* abbreviations before it are in `shapes` */
    bool has_all_abbrevs;
    bool is_out_of_memory;
    struct die_shape *shapes; /* by code */
    size_t n_shapes, shapes_allocated;
    struct die_form *forms;
    size_t n_forms, forms_allocated;
};

/* Begins a unit and returns its own DIE; reuses the memory of the previous unit. Zero `reader`
 * before the first use. False: nothing in the unit is readable. */
bool die_reader_begin(struct die_reader *reader, Dwarf_Die *unit, struct die_entry *ret_entry);

/* Reads the DIE at a place that the functions below returned. False: the end of a list of children,
 * or damage. */
bool die_reader_get(struct die_reader *reader, const unsigned char *at,
                    struct die_entry *ret_entry);

/* Place of the first child or, without children, of the next DIE; NULL: damage. */
const unsigned char *die_reader_below(const struct die_reader *reader,
                                      const struct die_entry *entry);

/* Place of the next DIE of the same list; NULL: damage. */
const unsigned char *die_reader_behind(struct die_reader *reader, const struct die_entry *entry);

/* Place after one where die_reader_get found no DIE; NULL if that was not the end of a list. */
const unsigned char *die_reader_list_end(const struct die_reader *reader, const unsigned char *at);

/* Gets the addresses of a DIE with one range in its own attributes; false: use libdw. */
bool die_reader_range(const struct die_reader *reader, const struct die_entry *entry,
                      uint64_t *ret_start, uint64_t *ret_end);

/* The same DIE for libdw. */
Dwarf_Die die_reader_die(const struct die_reader *reader, const struct die_entry *entry);

void die_reader_done(struct die_reader *reader);

#endif
