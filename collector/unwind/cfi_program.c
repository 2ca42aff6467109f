/* SPDX-License-Identifier: MIT */
#include "collector/unwind/cfi_program.h"

/* Instructions with an operand in their low six bits, then the others. */
enum {
    OP_HIGH = 0xc0,
    OP_LOW = 0x3f,
    OP_ADVANCE = 0x40,
    OP_OFFSET = 0x80,
    OP_RESTORE = 0xc0,

    OP_NOP = 0x00,
    OP_SET_LOC = 0x01,
    OP_ADVANCE_1 = 0x02,
    OP_ADVANCE_2 = 0x03,
    OP_ADVANCE_4 = 0x04,
    OP_OFFSET_EXTENDED = 0x05,
    OP_RESTORE_EXTENDED = 0x06,
    OP_UNDEFINED = 0x07,
    OP_SAME_VALUE = 0x08,
    OP_REGISTER = 0x09,
    OP_REMEMBER_STATE = 0x0a,
    OP_RESTORE_STATE = 0x0b,
    OP_DEF_CFA = 0x0c,
    OP_DEF_CFA_REGISTER = 0x0d,
    OP_DEF_CFA_OFFSET = 0x0e,
    OP_DEF_CFA_EXPRESSION = 0x0f,
    OP_EXPRESSION = 0x10,
    OP_OFFSET_EXTENDED_SF = 0x11,
    OP_DEF_CFA_SF = 0x12,
    OP_DEF_CFA_OFFSET_SF = 0x13,
    OP_VAL_OFFSET = 0x14,
    OP_VAL_OFFSET_SF = 0x15,
    OP_VAL_EXPRESSION = 0x16,
    OP_GNU_ARGS_SIZE = 0x2e,
    OP_GNU_NEGATIVE_OFFSET = 0x2f,
};

struct program {
    const struct cfi_cie *cie;
    struct cfi_cursor cursor;
    uintptr_t location; /* the current row is that of the code from here on */
    struct cfi_program_scratch *scratch;
    unsigned n_saved;
    bool is_cie; /* of the CIE: it cannot restore its own initial rules */
    struct cfi_row *row;
};

/* Rules of registers we do not track (vector registers) are read and ignored. */
static void set_rule(struct program *program, uint64_t number, struct cfi_rule rule)
{
    if (number < ARCH_N_REGISTERS)
        program->row->registers[number] = rule;
}

static int64_t scaled(struct program *program, int64_t factored)
{
    int64_t offset = 0;

    if (__builtin_mul_overflow(factored, program->cie->data_alignment, &offset))
        program->cursor.is_bad = true;
    return offset;
}

static void set_offset(struct program *program, uint64_t number, enum cfi_rule_kind kind,
                       int64_t factored)
{
    set_rule(program, number, (struct cfi_rule){.offset = scaled(program, factored), .kind = kind});
}

static void restore(struct program *program, uint64_t number)
{
    if (program->is_cie)
        program->cursor.is_bad = true;
    else if (number < ARCH_N_REGISTERS)
        program->row->registers[number] = program->scratch->initial.registers[number];
}

static struct cfi_rule read_expression(struct program *program, enum cfi_rule_kind kind)
{
    uint64_t n_bytes = cfi_cursor_uleb(&program->cursor);
    const uint8_t *bytes = program->cursor.at;

    cfi_cursor_skip(&program->cursor, n_bytes);
    return (struct cfi_rule){.expression = bytes, .n = (uint32_t)n_bytes, .kind = kind};
}

static void define_cfa(struct program *program, uint64_t number, int64_t offset)
{
    if (number >= ARCH_N_REGISTERS)
        program->cursor.is_bad = true;
    else
        program->row->cfa =
            (struct cfi_rule){.offset = offset, .n = (uint32_t)number, .kind = CFI_IN_REGISTER};
}

static void define_cfa_offset(struct program *program, int64_t offset)
{
    if (program->row->cfa.kind != CFI_IN_REGISTER)
        program->cursor.is_bad = true;
    else
        program->row->cfa.offset = offset;
}

static void remember_state(struct program *program)
{
    if (program->n_saved == CFI_SAVED_ROWS)
        program->cursor.is_bad = true;
    else
        program->scratch->saved[program->n_saved++] = *program->row;
}

static void restore_state(struct program *program)
{
    if (program->n_saved == 0)
        program->cursor.is_bad = true;
    else
        *program->row = program->scratch->saved[--program->n_saved];
}

static bool run_cfa_instruction(struct program *program, unsigned op)
{
    struct cfi_cursor *cursor = &program->cursor;
    uint64_t number;

    switch (op) {
    case OP_DEF_CFA:
        number = cfi_cursor_uleb(cursor);
        define_cfa(program, number, (int64_t)cfi_cursor_uleb(cursor));
        return true;
    case OP_DEF_CFA_SF:
        number = cfi_cursor_uleb(cursor);
        define_cfa(program, number, scaled(program, cfi_cursor_sleb(cursor)));
        return true;
    case OP_DEF_CFA_REGISTER:
        number = cfi_cursor_uleb(cursor);
        if (program->row->cfa.kind == CFI_IS_EXPRESSION)
            return false;
        define_cfa(program, number, program->row->cfa.offset); /* 0 if not defined before */
        return true;
    case OP_DEF_CFA_OFFSET:
        define_cfa_offset(program, (int64_t)cfi_cursor_uleb(cursor));
        return true;
    case OP_DEF_CFA_OFFSET_SF:
        define_cfa_offset(program, scaled(program, cfi_cursor_sleb(cursor)));
        return true;
    case OP_DEF_CFA_EXPRESSION:
        program->row->cfa = read_expression(program, CFI_IS_EXPRESSION);
        return true;
    default:
        return false;
    }
}

static bool run_register_instruction(struct program *program, unsigned op)
{
    struct cfi_cursor *cursor = &program->cursor;
    uint64_t number = cfi_cursor_uleb(cursor);

    switch (op) {
    case OP_OFFSET_EXTENDED:
        set_offset(program, number, CFI_AT_CFA, (int64_t)cfi_cursor_uleb(cursor));
        return true;
    case OP_OFFSET_EXTENDED_SF:
        set_offset(program, number, CFI_AT_CFA, cfi_cursor_sleb(cursor));
        return true;
    case OP_GNU_NEGATIVE_OFFSET:
        set_offset(program, number, CFI_AT_CFA, (int64_t)(0 - cfi_cursor_uleb(cursor)));
        return true;
    case OP_VAL_OFFSET:
        set_offset(program, number, CFI_IS_CFA, (int64_t)cfi_cursor_uleb(cursor));
        return true;
    case OP_VAL_OFFSET_SF:
        set_offset(program, number, CFI_IS_CFA, cfi_cursor_sleb(cursor));
        return true;
    case OP_RESTORE_EXTENDED:
        restore(program, number);
        return true;
    case OP_UNDEFINED:
        set_rule(program, number, (struct cfi_rule){.kind = CFI_UNDEFINED});
        return true;
    case OP_SAME_VALUE:
        set_rule(program, number, (struct cfi_rule){.kind = CFI_SAME});
        return true;
    case OP_REGISTER:
        set_rule(
            program, number,
            (struct cfi_rule){.n = (uint32_t)cfi_cursor_uleb(cursor), .kind = CFI_IN_REGISTER});
        return true;
    case OP_EXPRESSION:
        set_rule(program, number, read_expression(program, CFI_AT_EXPRESSION));
        return true;
    case OP_VAL_EXPRESSION:
        set_rule(program, number, read_expression(program, CFI_IS_EXPRESSION));
        return true;
    default:
        return false;
    }
}

/* False for an instruction that is unknown or misplaced. */
static bool run_other_instruction(struct program *program, unsigned op)
{
    if ((int)op == ARCH_CFI_OP_SIGNS_RA) /* needs no action: arch_code_address uses no row */
        return true;
    switch (op) {
    case OP_NOP:
        return true;
    case OP_REMEMBER_STATE:
        remember_state(program);
        return true;
    case OP_RESTORE_STATE:
        restore_state(program);
        return true;
    case OP_GNU_ARGS_SIZE:
        cfi_cursor_uleb(&program->cursor);
        return true;
    case OP_DEF_CFA:
    case OP_DEF_CFA_SF:
    case OP_DEF_CFA_REGISTER:
    case OP_DEF_CFA_OFFSET:
    case OP_DEF_CFA_OFFSET_SF:
    case OP_DEF_CFA_EXPRESSION:
        return run_cfa_instruction(program, op);
    default:
        return run_register_instruction(program, op);
    }
}

/* Bytes of code an instruction advances by; 0 also for other instructions. */
static uint64_t read_advance(struct program *program, unsigned op, bool *ret_is_advance)
{
    *ret_is_advance = true;
    if ((op & OP_HIGH) == OP_ADVANCE)
        return op & OP_LOW;
    switch (op) {
    case OP_ADVANCE_1:
        return cfi_cursor_unsigned(&program->cursor, 1);
    case OP_ADVANCE_2:
        return cfi_cursor_unsigned(&program->cursor, 2);
    case OP_ADVANCE_4:
        return cfi_cursor_unsigned(&program->cursor, 4);
    default:
        *ret_is_advance = false;
        return 0;
    }
}

static bool run_instruction(struct program *program, unsigned op)
{
    if ((op & OP_HIGH) == OP_OFFSET) {
        set_offset(program, op & OP_LOW, CFI_AT_CFA, (int64_t)cfi_cursor_uleb(&program->cursor));
        return true;
    }
    if ((op & OP_HIGH) == OP_RESTORE) {
        restore(program, op & OP_LOW);
        return true;
    }
    return run_other_instruction(program, op);
}

/* Runs until the row belongs to `address` or the program ends. */
static bool run(struct program *program, uintptr_t address)
{
    while (cfi_cursor_left(&program->cursor) > 0) {
        unsigned op = (unsigned)cfi_cursor_unsigned(&program->cursor, 1);
        bool is_advance;
        uint64_t n_units = read_advance(program, op, &is_advance);

        if (is_advance) {
            program->location += (uintptr_t)(n_units * program->cie->code_alignment);
            if (program->location > address)
                return !program->cursor.is_bad;
        } else if (!run_instruction(program, op)) {
            return false;
        }
        if (program->cursor.is_bad)
            return false;
    }
    return true;
}

bool cfi_program_run(const struct cfi_cie *cie, const struct cfi_fde *fde, uintptr_t address,
                     struct cfi_program_scratch *scratch, struct cfi_row *ret_row)
{
    struct program program = {.cie = cie,
                              .cursor = cie->program,
                              .location = fde->start,
                              .scratch = scratch,
                              .is_cie = true,
                              .row = ret_row};

    *ret_row = (struct cfi_row){.start = fde->start,
                                .return_column = cie->return_column,
                                .is_signal_frame = cie->is_signal_frame};
    if (!run(&program, UINTPTR_MAX))
        return false;
    scratch->initial = *ret_row;
    program.cursor = fde->program;
    program.location = fde->start;
    program.is_cie = false;
    if (!run(&program, address))
        return false;
    return ret_row->cfa.kind != CFI_UNSPECIFIED;
}
