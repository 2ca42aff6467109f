/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_rule.h"

#include <stddef.h>

enum {
    OP_DEREF = 0x06,
    OP_BREG0 = 0x70,
};

/* `breg n, offset`, alone or followed by a deref. */
static bool parse_address(const struct cfi_rule *rule, bool is_deref, unsigned *ret_register,
                          int64_t *ret_offset)
{
    const uint8_t *expression = rule->expression;
    size_t n_bytes = rule->n;

    if (is_deref) {
        if (n_bytes == 0 || expression[n_bytes - 1] != OP_DEREF)
            return false;
        n_bytes--;
    }
    /* one opcode and an offset of one or two bytes cover what compilers write */
    if (n_bytes < 2 || n_bytes > 3 || expression[0] < OP_BREG0
        || expression[0] >= OP_BREG0 + ARCH_N_REGISTERS)
        return false;
    if ((n_bytes == 2) != !(expression[1] & 0x80) || (n_bytes == 3 && (expression[2] & 0x80)))
        return false;
    unsigned bits = expression[1] & 0x7fu;
    unsigned n_bits = 7;
    if (n_bytes == 3) {
        bits |= (unsigned)expression[2] << 7;
        n_bits = 14;
    }
    *ret_register = expression[0] - OP_BREG0;
    *ret_offset = (int64_t)bits - ((bits >> (n_bits - 1)) & 1 ? (int64_t)1 << n_bits : 0);
    return true;
}

static bool parse_cfa(const struct cfi_rule *cfa, struct unwind_rule *rule)
{
    unsigned number = cfa->n;
    int64_t offset;

    if (cfa->kind == CFI_IN_REGISTER) {
        offset = cfa->offset;
        if (number != ARCH_SP && number != ARCH_FP)
            return false;
        rule->kind = number == ARCH_SP ? UNWIND_RULE_SP : UNWIND_RULE_FP;
    } else {
        if (!parse_address(cfa, true, &number, &offset) || number != ARCH_FP)
            return false;
        rule->kind = UNWIND_RULE_DEREF;
    }
    rule->cfa_offset = (int32_t)offset;
    return rule->cfa_offset == offset;
}

static bool parse_fp(const struct cfi_rule *fp, struct unwind_rule *rule)
{
    unsigned number;
    int64_t offset = 0;

    switch (fp->kind) {
    case CFI_UNSPECIFIED:
    case CFI_SAME:
        rule->fp_kind = UNWIND_FP_KEPT;
        return true;
    case CFI_AT_CFA:
        rule->fp_kind = UNWIND_FP_AT_CFA;
        offset = fp->offset;
        break;
    case CFI_AT_EXPRESSION:
        rule->fp_kind = UNWIND_FP_AT_FP;
        if (!parse_address(fp, false, &number, &offset) || number != ARCH_FP)
            return false;
        break;
    default:
        return false;
    }
    rule->fp_offset = (int16_t)offset;
    return rule->fp_offset == offset;
}

/* The distance from the frame pointer's word goes into the low bits of that word's offset. */
static bool parse_ra_behind_fp(int64_t offset, struct unwind_rule *rule)
{
    const int64_t far_bytes = offset - rule->fp_offset - ARCH_RA_BEHIND_FP;
    const int32_t word_bytes = (int32_t)sizeof(uintptr_t);
    int32_t packed;

    if (ARCH_FAR_RA_BITS == 0)
        return far_bytes == 0;
    if (far_bytes < 0 || far_bytes > (int64_t)UNWIND_FAR_RA_MASK * word_bytes
        || (far_bytes | rule->fp_offset) % word_bytes != 0)
        return false;
    packed =
        rule->fp_offset / word_bytes * (1 << ARCH_FAR_RA_BITS) + (int32_t)far_bytes / word_bytes;
    rule->fp_offset = (int16_t)packed;
    return rule->fp_offset == packed;
}

/* The word of the return address; after that of the frame pointer if the function saves both. */
static bool parse_ra(const struct cfi_rule *ra, struct unwind_rule *rule)
{
    if (ra->kind != CFI_AT_CFA)
        return false;
    if (ARCH_HAS_FIXED_RA)
        return ra->offset == ARCH_RA_AT_CFA;
    if (rule->fp_kind == UNWIND_FP_AT_FP)
        return false;
    if (rule->fp_kind == UNWIND_FP_AT_CFA)
        return parse_ra_behind_fp(ra->offset, rule);
    rule->fp_offset = (int16_t)ra->offset;
    return rule->fp_offset == ra->offset;
}

/* Its words are as arch_signal_offset says. */
static bool parse_known_signal_frame(const struct cfi_row *row, struct unwind_rule *rule)
{
    rule->kind = UNWIND_RULE_SIGNAL;
    rule->cfa_offset = (int32_t)row->registers[ARCH_SP].offset;
    rule->fp_offset = (int16_t)row->registers[ARCH_FP].offset;
    return row->cfa.kind == CFI_IN_REGISTER && row->cfa.n == ARCH_SP && row->cfa.offset == 0
           && row->return_column == ARCH_RA;
}

/* The kernel's frame: sp, pc and fp are words of the ucontext above SP. */
static bool parse_signal_frame(const struct cfi_row *row, struct unwind_rule *rule)
{
    const struct cfi_rule *pc = &row->registers[row->return_column];
    const struct cfi_rule *fp = &row->registers[ARCH_FP];
    unsigned sp_base;
    unsigned pc_base;
    unsigned fp_base;
    int64_t sp_offset;
    int64_t pc_offset;
    int64_t fp_offset;

    if (row->cfa.kind != CFI_IS_EXPRESSION || pc->kind != CFI_AT_EXPRESSION
        || fp->kind != CFI_AT_EXPRESSION || !parse_address(&row->cfa, true, &sp_base, &sp_offset)
        || !parse_address(pc, false, &pc_base, &pc_offset)
        || !parse_address(fp, false, &fp_base, &fp_offset))
        return false;
    rule->kind = UNWIND_RULE_SIGNAL;
    rule->cfa_offset = (int32_t)sp_offset;
    rule->fp_offset = (int16_t)fp_offset;
    return sp_base == ARCH_SP && pc_base == ARCH_SP && fp_base == ARCH_SP
           && pc_offset == sp_offset + ARCH_SIGNAL_PC_BEHIND_SP;
}

struct unwind_rule unwind_rule_of_row(const struct cfi_row *row, uint32_t module)
{
    const struct cfi_rule *pc = &row->registers[row->return_column];
    struct unwind_rule rule = {.module = module};
    bool is_compact;

    if (pc->kind == CFI_UNDEFINED) {
        rule.kind = UNWIND_RULE_END;
        return rule;
    }
    if (row->is_signal_frame)
        is_compact = row->registers[ARCH_SP].kind == CFI_AT_CFA
                         ? parse_known_signal_frame(row, &rule)
                         : parse_signal_frame(row, &rule);
    else
        is_compact = row->registers[ARCH_SP].kind == CFI_UNSPECIFIED && parse_cfa(&row->cfa, &rule)
                     && parse_fp(&row->registers[ARCH_FP], &rule) && parse_ra(pc, &rule);
    if (is_compact && row->is_from_code) {
        if (rule.kind == UNWIND_RULE_FP)
            rule.fp_kind = UNWIND_FP_AT_FP;
        rule.kind = UNWIND_RULE_CODE;
        return rule;
    }
    if (!is_compact || (ARCH_HAS_EXIDX && row->is_guess))
        rule = (struct unwind_rule){.module = module, .kind = UNWIND_RULE_FULL};
    return rule;
}
