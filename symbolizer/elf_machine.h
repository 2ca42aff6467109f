/* SPDX-License-Identifier: MIT */
/*
 * elf_machine: properties of code addresses that depend on the processor.
 *
 * A code address may have bits that select an instruction set (Thumb, MIPS16), which debug info and
 * symbol sizes do not have. A return address is after the call; call_bytes before it is a byte of
 * the call. On MIPS that is the instruction before the delay slot, which belongs to the call
 * whatever line it is from.
 */
#ifndef MTRACE_SYMBOLIZER_ELF_MACHINE_H
#define MTRACE_SYMBOLIZER_ELF_MACHINE_H

#include <libelf.h>
#include <stdint.h>

struct elf_machine {
    uint64_t mode_bits;  /* instruction set bits of code addresses */
    uint64_t call_bytes; /* distance from a return address back into its call */
};

/* `elf` may be NULL: the result then fits most processors. */
struct elf_machine elf_machine_of(Elf *elf);

#endif
