/* SPDX-License-Identifier: MIT */
/*
 * function_starts: where functions without a symbol start, by the search table of .eh_frame_hdr.
 *
 * Linkers write the table for every program that can be unwound; strip keeps it. Only the encoding
 * that they use is read: offsets of four bytes from the header. A part of a function that the
 * compiler placed elsewhere is a function of its own. The ELF file must outlive the structure.
 *
 * Errors: none. Without a readable table no function is found.
 */
#ifndef MTRACE_SYMBOLIZER_FUNCTION_STARTS_H
#define MTRACE_SYMBOLIZER_FUNCTION_STARTS_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct function_starts {
    Dwarf_CFI *frames;          /* knows where functions end; NULL: no table */
    const unsigned char *table; /* pairs of int32_t: offset of the function, offset of its FDE */
    size_t n_functions;
    uint64_t base; /* address of the header */
};

/* elf may be NULL. */
void function_starts_init(struct function_starts *starts, Elf *elf);
void function_starts_done(struct function_starts *starts);

/* Start of the function that contains the address; 0: not known. */
uint64_t function_starts_find(const struct function_starts *starts, uint64_t address);

#endif
