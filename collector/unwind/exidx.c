/* SPDX-License-Identifier: MIT */
#include "collector/unwind/exidx.h"

#include <string.h>

enum {
    ENTRY_BYTES = 8,
    CANNOT_UNWIND = 1,
    N_REGISTERS = 16,
    SP = 13,
    LR = 14,
    PC = 15,

    OP_FINISH = 0xb0,
};

/* A row of another processor may have fewer registers: a unit test built there must not write
 * beyond it. */
_Static_assert((int)ARCH_N_REGISTERS >= (int)N_REGISTERS, "a row has no place for ARM's registers");

static const uint32_t COMPACT = 0x80000000u;

/* Opcodes to be read: bytes of words, the highest first. */
struct opcodes {
    const struct cfi_section *section;
    uintptr_t next; /* address of the next word */
    uint32_t word;
    unsigned n_bytes; /* left of the word */
    unsigned n_words; /* left after it */
    bool is_bad;
};

/* vsp = the register `base` + offset. While opcodes are read, saved registers are at offsets from
 * base. */
struct machine {
    struct cfi_row *row;
    uint32_t base;
    int64_t offset; /* a table of 1020 bytes may add 2^30 some two hundred times */
    bool has_popped;
    bool is_done;
};

static bool read_word(const struct cfi_section *section, uintptr_t address, uint32_t *ret_word)
{
    if (address < section->low || address > section->high
        || section->high - address < sizeof(*ret_word))
        return false;
    if (section->copy == NULL) {
        memcpy(ret_word, (const void *)address, sizeof(*ret_word));
        return true;
    }
    if (section->copy(ret_word, address, sizeof(*ret_word)))
        return true;
    if (section->ret_is_unmapped != NULL)
        *section->ret_is_unmapped = true;
    return false;
}

/* A 31-bit distance, relative to its own address. */
static uintptr_t relative(uintptr_t address, uint32_t word)
{
    return address + (uintptr_t)(intptr_t)((int32_t)(word << 1) >> 1);
}

/* The last entry that begins at or before an address; 0: none. */
static bool search_index(const struct cfi_section *section, uintptr_t address, uintptr_t *ret_entry,
                         uintptr_t *ret_start)
{
    size_t first = 0;
    size_t n = section->n_entries;

    *ret_entry = 0;
    while (n > 0) {
        const size_t half = n / 2;
        const uintptr_t entry = section->hdr + (first + half) * ENTRY_BYTES;
        uint32_t word;
        if (!read_word(section, entry, &word))
            return false;
        if (relative(entry, word) <= address) {
            *ret_entry = entry;
            *ret_start = relative(entry, word);
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return true;
}

/* In a compact entry bits 24 to 27 give the form. Otherwise a routine is named, and what follows
 * has the second form, as gcc writes it. */
static bool open_table(const struct cfi_section *section, uintptr_t address, struct opcodes *ret)
{
    uint32_t word;

    if (!read_word(section, address, &word))
        return false;
    *ret =
        (struct opcodes){.section = section, .next = address + 4, .word = word << 8, .n_bytes = 3};
    if (word & COMPACT) {
        const uint32_t form = word >> 24 & 0x7f;
        if (form == 0)
            return true;
        ret->n_bytes = 2;
        ret->word = word << 16;
        ret->n_words = word >> 16 & 0xff;
        return form <= 2;
    }
    if (!read_word(section, ret->next, &word))
        return false;
    ret->next += 4;
    ret->word = word << 8;
    ret->n_words = word >> 24;
    return true;
}

/* After the last opcode this returns `finish`. */
static unsigned next(struct opcodes *opcodes)
{
    unsigned byte;

    if (opcodes->n_bytes == 0) {
        if (opcodes->n_words == 0)
            return OP_FINISH;
        if (!read_word(opcodes->section, opcodes->next, &opcodes->word)) {
            opcodes->is_bad = true;
            return OP_FINISH;
        }
        opcodes->next += 4;
        opcodes->n_words--;
        opcodes->n_bytes = 4;
    }
    byte = opcodes->word >> 24;
    opcodes->word <<= 8;
    opcodes->n_bytes--;
    return byte;
}

static uint32_t next_uleb(struct opcodes *opcodes)
{
    uint32_t value = 0;

    for (unsigned shift = 0; shift < 28; shift += 7) {
        const unsigned byte = next(opcodes);
        value |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    opcodes->is_bad = true;
    return 0;
}

/* Registers of a mask, bit 0 being `first`; the lowest is on top of the stack. */
static void pop(struct machine *machine, unsigned first, unsigned mask)
{
    for (unsigned number = first; mask != 0 && number < N_REGISTERS; number++, mask >>= 1) {
        if (!(mask & 1))
            continue;
        machine->row->registers[number] =
            (struct cfi_rule){.offset = machine->offset, .kind = CFI_AT_CFA};
        machine->offset += 4;
        machine->has_popped = true;
        machine->is_done |= number == SP; /* vsp is the popped value, and no opcode follows */
    }
}

/* vsp = a register that still has its value. No pop comes before: its offset would be unknown. */
static bool take_base(struct machine *machine, unsigned number)
{
    if (number == SP || number == PC || machine->has_popped)
        return false;
    machine->base = number;
    machine->offset = 0;
    return true;
}

/* 1011xxxx */
static bool run_b(struct machine *machine, struct opcodes *opcodes, unsigned op)
{
    unsigned mask;

    switch (op) {
    case OP_FINISH:
        machine->is_done = true;
        return true;
    case 0xb1:
        mask = next(opcodes);
        pop(machine, 0, mask);
        return mask != 0 && mask <= 0xf;
    case 0xb2:
        machine->offset += 0x204 + (int64_t)(next_uleb(opcodes) << 2);
        return true;
    case 0xb3: /* VFP registers as fstmfdx saves them */
        machine->offset += (int32_t)(next(opcodes) & 0xf) * 8 + 12;
        return true;
    case 0xb4: /* the code that authenticates the return address */
        machine->offset += 4;
        return true;
    case 0xb5:
    case 0xb6:
    case 0xb7:
        return false;
    default: /* d8 and following, as fstmfdx saves them */
        machine->offset += (int32_t)(op & 7) * 8 + 12;
        return true;
    }
}

/* 1100xxxx: registers of coprocessors */
static bool run_c(struct machine *machine, struct opcodes *opcodes, unsigned op)
{
    unsigned operand;

    if (op < 0xc6) {
        machine->offset += (int32_t)(op & 7) * 8 + 8;
        return true;
    }
    if (op > 0xc9)
        return false;
    operand = next(opcodes);
    if (op == 0xc7)
        machine->offset += 4 * __builtin_popcount(operand & 0xf);
    else
        machine->offset += (int32_t)(operand & 0xf) * 8 + 8;
    return op != 0xc7 || (operand != 0 && operand <= 0xf);
}

static bool run(struct machine *machine, struct opcodes *opcodes)
{
    const unsigned op = next(opcodes);
    const int32_t bytes = (int32_t)(op & 0x3f) * 4 + 4;

    switch (op >> 4) {
    case 0x0:
    case 0x1:
    case 0x2:
    case 0x3:
        machine->offset += bytes;
        return true;
    case 0x4:
    case 0x5:
    case 0x6:
    case 0x7:
        machine->offset -= bytes;
        return true;
    case 0x8: {
        const unsigned mask = (op & 0xf) << 8 | next(opcodes);
        pop(machine, 4, mask);
        return mask != 0; /* else: it cannot be unwound */
    }
    case 0x9:
        return take_base(machine, op & 0xf);
    case 0xa:
        pop(machine, 4, (2u << (op & 7)) - 1);
        pop(machine, LR, op >> 3 & 1);
        return true;
    case 0xb:
        return run_b(machine, opcodes, op);
    case 0xc:
        return run_c(machine, opcodes, op);
    case 0xd:
        machine->offset += (int32_t)(op & 7) * 8 + 8;
        return op <= 0xd7;
    default:
        return false;
    }
}

/* Converts offsets to be relative to the final vsp, the CFA; saved registers are below it. */
static void finish(const struct machine *machine)
{
    struct cfi_row *row = machine->row;

    for (unsigned number = 0; number < N_REGISTERS; number++)
        if (row->registers[number].kind == CFI_AT_CFA)
            row->registers[number].offset -= machine->offset;
    row->cfa =
        (struct cfi_rule){.offset = machine->offset, .n = machine->base, .kind = CFI_IN_REGISTER};
    row->return_column = row->registers[PC].kind == CFI_AT_CFA ? PC : LR;
}

/* svc #number, right before the address, where the kernel continues, or at it: there the function's
 * tables hold. */
static bool is_system_call(const struct cfi_section *section, uintptr_t address)
{
    uint32_t before = 0;
    uint32_t behind = 0;

    read_word(section, address - 4, &before);
    read_word(section, address, &behind);
    return before >> 24 == 0xef || before >> 24 == 0xdf || behind >> 24 == 0xef
           || (behind & 0xff00) == 0xdf00;
}

enum cfi_result exidx_find_row(const struct cfi_section *section, uintptr_t address,
                               struct cfi_row *ret_row)
{
    struct machine machine = {.row = ret_row, .base = SP};
    struct opcodes opcodes;
    uintptr_t entry;
    uintptr_t start = 0;
    uint32_t word;

    if (!search_index(section, address, &entry, &start))
        return CFI_MALFORMED;
    if (entry == 0)
        return CFI_NO_ENTRY;
    if (!read_word(section, entry + 4, &word))
        return CFI_MALFORMED;
    if (word == CANNOT_UNWIND)
        return CFI_NO_ENTRY;
    if (!open_table(section, word & COMPACT ? entry + 4 : relative(entry + 4, word), &opcodes))
        return CFI_MALFORMED;
    *ret_row = (struct cfi_row){.start = start};
    while (!machine.is_done)
        if (!run(&machine, &opcodes) || opcodes.is_bad)
            return CFI_MALFORMED;
    finish(&machine);
    /* a function that never moves its stack pointer is the same everywhere */
    ret_row->is_guess = address % 2 == 0 && (machine.offset != 0 || machine.base != SP)
                        && !is_system_call(section, address);
    return CFI_FOUND;
}
