/* SPDX-License-Identifier: MIT */
/*
 * cfi_program: runs the instructions of a CIE and an FDE up to one code address.
 *
 * The result is a row: where the frame of the address is, and where each register of its caller is.
 * An expression of a row points into the section or scratch memory that it was read from. Only
 * cfi.c runs programs; its invariants (CF-1 … CF-4) hold here too.
 */
#ifndef MTRACE_COLLECTOR_CFI_PROGRAM_H
#define MTRACE_COLLECTOR_CFI_PROGRAM_H

#include "collector/arch/arch.h"
#include "collector/unwind/cfi_cursor.h"

#include <stdbool.h>
#include <stdint.h>

enum cfi_rule_kind {
    CFI_UNSPECIFIED, /* not mentioned: kept if callee-saved */
    CFI_SAME,
    CFI_UNDEFINED,
    CFI_AT_CFA,        /* saved at CFA + offset */
    CFI_IS_CFA,        /* is CFA + offset */
    CFI_IN_REGISTER,   /* in another register; of the CFA: register + offset */
    CFI_AT_EXPRESSION, /* saved at the address the expression yields */
    CFI_IS_EXPRESSION, /* is the expression's value */
};

struct cfi_rule {
    union {
        int64_t offset;
        const uint8_t *expression;
    };

    uint32_t n;    /* register number, or bytes of the expression */
    uint32_t kind; /* enum cfi_rule_kind */
};

struct cfi_row {
    struct cfi_rule cfa; /* CFI_IN_REGISTER or CFI_IS_EXPRESSION */
    struct cfi_rule registers[ARCH_N_REGISTERS];
    uintptr_t start;        /* first address of the function, or of its part */
    uint32_t return_column; /* < ARCH_N_REGISTERS */
    bool is_signal_frame;   /* its caller was interrupted, not calling */
    bool is_guess;          /* right at calls of the function; the address is not at a call */
    bool is_from_code;      /* not from CFI but from instructions (unwind_code.h) */
};

enum {
    CFI_SAVED_ROWS = 8 /* depth of DW_CFA_remember_state; compilers nest at most two */
};

struct cfi_cie {
    uint64_t code_alignment;
    int64_t data_alignment;
    uint32_t return_column; /* < ARCH_N_REGISTERS */
    uint8_t pointer_encoding;
    bool has_augmentation;
    bool is_signal_frame;
    struct cfi_cursor program;
};

struct cfi_fde {
    uintptr_t start;
    uint64_t n_bytes; /* of code */
    struct cfi_cursor program;
};

/* Intermediate rows; too large for the program's stack. */
struct cfi_program_scratch {
    struct cfi_row initial; /* after the CIE's program */
    struct cfi_row saved[CFI_SAVED_ROWS];
};

/* The row of address, which is inside fde; false when the program is malformed. */
bool cfi_program_run(const struct cfi_cie *cie, const struct cfi_fde *fde, uintptr_t address,
                     struct cfi_program_scratch *scratch, struct cfi_row *ret_row);

#endif
