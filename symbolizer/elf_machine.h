/* SPDX-License-Identifier: MIT */
/*
 * elf_machine: what the processor of an ELF file means for addresses of its code.
 *
 * Model: a code address may have bits that say in which instruction set to go on (Thumb, MIPS16);
 *        debug info and the sizes of symbols know nothing of them. A return address lies behind the
 *        call; so many bytes before it is a byte of the call. On MIPS that is the instruction before
 *        the delay slot, which belongs to the call whatever line it came from.
 */
#ifndef MTRACE_SYMBOLIZER_ELF_MACHINE_H
#define MTRACE_SYMBOLIZER_ELF_MACHINE_H

#include <libelf.h>
#include <stdint.h>

struct elf_machine {
    uint64_t mode_bits;  /* of code addresses */
    uint64_t call_bytes; /* from a return address back into its call */
};

/* `elf` may be NULL: then as of most processors. */
struct elf_machine elf_machine_of(Elf *elf);

#endif
