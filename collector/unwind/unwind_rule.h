/* SPDX-License-Identifier: MIT */
/*
 * unwind_rule: how to find the caller of the frame at one code address, in 12 bytes.
 *
 * A rule knows only stack pointer, frame pointer and pc. A row that needs more becomes
 * UNWIND_RULE_FULL and is left to the interpreter (unwind_full.h). A rule is made once from the
 * module's CFI (unwind_cfi.h) and then found in unwind_cache.h.
 *
 * Any thread. Async-signal-safe. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_RULE_H
#define MTRACE_COLLECTOR_UNWIND_RULE_H

#include "collector/unwind/cfi_program.h"

#include <stdint.h>

enum unwind_rule_kind {
    UNWIND_RULE_SP,     /* CFA = SP + cfa_offset */
    UNWIND_RULE_FP,     /* CFA = FP + cfa_offset */
    UNWIND_RULE_DEREF,  /* CFA = *(FP + cfa_offset): the function realigned its stack */
    UNWIND_RULE_SIGNAL, /* SP, FP and pc at SP + cfa_offset, + fp_offset, and after SP's word */
    UNWIND_RULE_END,    /* outermost frame: the return address is undefined */
    UNWIND_RULE_GUESS,  /* no CFI */
    UNWIND_RULE_FULL,   /* needs other registers or expressions */
    UNWIND_RULE_CODE,   /* as SP; as FP if UNWIND_FP_AT_FP (FP is saved at the CFA); without CFI */
};

enum unwind_fp_kind {
    UNWIND_FP_KEPT,
    UNWIND_FP_AT_CFA, /* saved at CFA + fp_offset */
    UNWIND_FP_AT_FP,  /* saved at FP + fp_offset */
};

struct unwind_rule {
    uint32_t module; /* LOG_DEF_MODULE id of the code, 0 if none */
    int32_t cfa_offset;
    int16_t fp_offset; /* where the function saves its return address, too, and keeps the frame
                          pointer: of that */
    uint8_t kind;      /* enum unwind_rule_kind */
    uint8_t fp_kind;   /* enum unwind_fp_kind */
};

enum {
    UNWIND_FAR_RA_MASK = (1 << ARCH_FAR_RA_BITS) - 1, /* of fp_offset of UNWIND_FP_AT_CFA: words */
};

/* Where the frame pointer is saved, if the function saves it. */
static inline int32_t unwind_rule_fp(const struct unwind_rule *rule)
{
    if (ARCH_FAR_RA_BITS != 0 && rule->fp_kind == UNWIND_FP_AT_CFA)
        return (rule->fp_offset >> ARCH_FAR_RA_BITS) * (int32_t)sizeof(uintptr_t);
    return rule->fp_offset;
}

/* Where the return address is, relative to the CFA: after the saved frame pointer if there is
 * one. */
static inline int32_t unwind_rule_ra(const struct unwind_rule *rule)
{
    if (ARCH_HAS_FIXED_RA)
        return ARCH_RA_AT_CFA;
    if (rule->fp_kind == UNWIND_FP_KEPT)
        return rule->fp_offset;
    return unwind_rule_fp(rule) + ARCH_RA_BEHIND_FP
           + (rule->fp_offset & UNWIND_FAR_RA_MASK) * (int32_t)sizeof(uintptr_t);
}

/* The equivalent rule, as if from CFI, of an UNWIND_RULE_CODE. */
static inline struct unwind_rule unwind_rule_of_code(const struct unwind_rule *rule)
{
    struct unwind_rule said = *rule;

    said.kind = rule->fp_kind == UNWIND_FP_AT_FP ? UNWIND_RULE_FP : UNWIND_RULE_SP;
    if (rule->fp_kind == UNWIND_FP_AT_FP)
        said.fp_kind = UNWIND_FP_AT_CFA;
    return said;
}

/* The rule for a row. */
struct unwind_rule unwind_rule_of_row(const struct cfi_row *row, uint32_t module);

#endif
