/* SPDX-License-Identifier: MIT */
/*
 * cfi_row: CFI of one code address: where its frame is, and where each register of its caller is.
 *
 * An expression of a row points into the section or scratch memory that it was read from (CF-4).
 */
#ifndef MTRACE_COLLECTOR_CFI_ROW_H
#define MTRACE_COLLECTOR_CFI_ROW_H

#include "collector/arch/arch.h"

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

#endif
