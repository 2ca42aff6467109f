/* SPDX-License-Identifier: MIT */
#include "collector/unwind/cfi_expression.h"

#include "collector/unwind/cfi_cursor.h"

enum {
    OP_ADDR = 0x03,
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_CONST4U = 0x0c,
    OP_CONST4S = 0x0d,
    OP_CONST8U = 0x0e,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_DUP = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROT = 0x17,
    OP_ABS = 0x19,
    OP_AND = 0x1a,
    OP_DIV = 0x1b,
    OP_MINUS = 0x1c,
    OP_MOD = 0x1d,
    OP_MUL = 0x1e,
    OP_NEG = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_SHR = 0x25,
    OP_SHRA = 0x26,
    OP_XOR = 0x27,
    OP_BRA = 0x28,
    OP_EQ = 0x29,
    OP_GE = 0x2a,
    OP_GT = 0x2b,
    OP_LE = 0x2c,
    OP_LT = 0x2d,
    OP_NE = 0x2e,
    OP_SKIP = 0x2f,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

struct machine {
    const struct cfi_context *context;
    const uint8_t *start;
    struct cfi_cursor cursor;
    unsigned depth;
    uintptr_t stack[CFI_EXPRESSION_DEPTH];
};

static bool push(struct machine *machine, uintptr_t value)
{
    if (machine->depth == CFI_EXPRESSION_DEPTH)
        return false;
    machine->stack[machine->depth++] = value;
    return true;
}

/* The element `index` below the top; NULL if there are fewer. */
static uintptr_t *element(struct machine *machine, uint64_t index)
{
    return index < machine->depth ? &machine->stack[machine->depth - 1 - index] : NULL;
}

static bool push_element(struct machine *machine, uint64_t index)
{
    uintptr_t *value = element(machine, index);

    return value != NULL && push(machine, *value);
}

static bool push_register(struct machine *machine, uint64_t number)
{
    const struct arch_registers *registers = machine->context->registers;
    int64_t offset = cfi_cursor_sleb(&machine->cursor);

    if (number >= ARCH_N_REGISTERS || !(registers->known >> number & 1))
        return false;
    return push(machine, registers->value[number] + (uintptr_t)offset);
}

static bool dereference(struct machine *machine, uint64_t n_bytes)
{
    uintptr_t *top = element(machine, 0);

    if (top == NULL || n_bytes == 0 || n_bytes > sizeof(*top)
        || !machine->context->load(machine->context->loader, *top, top))
        return false;
    if (n_bytes < sizeof(*top))
        *top &= ((uintptr_t)1 << (8 * n_bytes)) - 1;
    return true;
}

static bool jump(struct machine *machine, int64_t distance)
{
    int64_t at = machine->cursor.at - machine->start;
    int64_t n_bytes = machine->cursor.end - machine->start;

    if (distance < -at || distance > n_bytes - at)
        return false;
    machine->cursor.at = machine->start + at + distance;
    return true;
}

static bool branch(struct machine *machine, bool is_conditional)
{
    int64_t distance = cfi_cursor_signed(&machine->cursor, 2);

    if (is_conditional) {
        if (machine->depth == 0)
            return false;
        if (machine->stack[--machine->depth] == 0)
            return true;
    }
    return jump(machine, distance);
}

static bool rotate(struct machine *machine)
{
    uintptr_t *top = element(machine, 0);

    if (machine->depth < 3)
        return false;
    uintptr_t first = top[0];
    top[0] = top[-1];
    top[-1] = top[-2];
    top[-2] = first;
    return true;
}

static bool push_constant(struct machine *machine, unsigned op)
{
    struct cfi_cursor *cursor = &machine->cursor;

    switch (op) {
    case OP_ADDR:
        return push(machine, (uintptr_t)cfi_cursor_unsigned(cursor, sizeof(uintptr_t)));
    case OP_CONST8U:
    case OP_CONST8S:
        return push(machine, (uintptr_t)cfi_cursor_unsigned(cursor, 8));
    case OP_CONST1U:
        return push(machine, (uintptr_t)cfi_cursor_unsigned(cursor, 1));
    case OP_CONST1S:
        return push(machine, (uintptr_t)cfi_cursor_signed(cursor, 1));
    case OP_CONST2U:
        return push(machine, (uintptr_t)cfi_cursor_unsigned(cursor, 2));
    case OP_CONST2S:
        return push(machine, (uintptr_t)cfi_cursor_signed(cursor, 2));
    case OP_CONST4U:
        return push(machine, (uintptr_t)cfi_cursor_unsigned(cursor, 4));
    case OP_CONST4S:
        return push(machine, (uintptr_t)cfi_cursor_signed(cursor, 4));
    case OP_CONSTU:
        return push(machine, (uintptr_t)cfi_cursor_uleb(cursor));
    case OP_CONSTS:
        return push(machine, (uintptr_t)cfi_cursor_sleb(cursor));
    default:
        return false;
    }
}

static bool run_unary(struct machine *machine, unsigned op)
{
    uintptr_t *top = element(machine, 0);

    if (top == NULL)
        return false;
    switch (op) {
    case OP_ABS:
        *top = (intptr_t)*top < 0 ? 0 - *top : *top;
        return true;
    case OP_NEG:
        *top = 0 - *top;
        return true;
    case OP_NOT:
        *top = ~*top;
        return true;
    case OP_PLUS_UCONST:
        *top += (uintptr_t)cfi_cursor_uleb(&machine->cursor);
        return true;
    default:
        return false;
    }
}

static bool divide(uintptr_t *left, uintptr_t right)
{
    if (right == 0 || (right == UINTPTR_MAX && *left == (uintptr_t)INTPTR_MIN))
        return false;
    *left = (uintptr_t)((intptr_t)*left / (intptr_t)right);
    return true;
}

static bool compare(unsigned op, intptr_t left, intptr_t right)
{
    switch (op) {
    case OP_EQ:
        return left == right;
    case OP_GE:
        return left >= right;
    case OP_GT:
        return left > right;
    case OP_LE:
        return left <= right;
    case OP_LT:
        return left < right;
    default:
        return left != right;
    }
}

static bool run_arithmetic(unsigned op, uintptr_t *left, uintptr_t right)
{
    bool is_wide = right > 63;

    switch (op) {
    case OP_AND:
        *left &= right;
        return true;
    case OP_OR:
        *left |= right;
        return true;
    case OP_XOR:
        *left ^= right;
        return true;
    case OP_PLUS:
        *left += right;
        return true;
    case OP_MINUS:
        *left -= right;
        return true;
    case OP_MUL:
        *left *= right;
        return true;
    case OP_DIV:
        return divide(left, right);
    case OP_MOD:
        if (right == 0)
            return false;
        *left %= right;
        return true;
    case OP_SHL:
        *left = is_wide ? 0 : *left << right;
        return true;
    case OP_SHR:
        *left = is_wide ? 0 : *left >> right;
        return true;
    case OP_SHRA:
        *left = (uintptr_t)((intptr_t)*left >> (is_wide ? 63 : right));
        return true;
    case OP_EQ:
    case OP_GE:
    case OP_GT:
    case OP_LE:
    case OP_LT:
    case OP_NE:
        *left = compare(op, (intptr_t)*left, (intptr_t)right);
        return true;
    default:
        return false;
    }
}

static bool run_binary(struct machine *machine, unsigned op)
{
    if (machine->depth < 2)
        return false;
    machine->depth--;
    return run_arithmetic(op, &machine->stack[machine->depth - 1], machine->stack[machine->depth]);
}

static bool swap(struct machine *machine)
{
    uintptr_t *top = element(machine, 0);

    if (machine->depth < 2)
        return false;
    uintptr_t first = top[0];
    top[0] = top[-1];
    top[-1] = first;
    return true;
}

static bool run_operation(struct machine *machine, unsigned op)
{
    struct cfi_cursor *cursor = &machine->cursor;

    if (op >= OP_LIT0 && op <= OP_LIT31)
        return push(machine, op - OP_LIT0);
    if (op >= OP_BREG0 && op <= OP_BREG31)
        return push_register(machine, op - OP_BREG0);
    switch (op) {
    case OP_BREGX:
        return push_register(machine, cfi_cursor_uleb(cursor));
    case OP_DEREF:
        return dereference(machine, 8);
    case OP_DEREF_SIZE:
        return dereference(machine, cfi_cursor_unsigned(cursor, 1));
    case OP_DUP:
        return push_element(machine, 0);
    case OP_OVER:
        return push_element(machine, 1);
    case OP_PICK:
        return push_element(machine, cfi_cursor_unsigned(cursor, 1));
    case OP_DROP:
        return machine->depth > 0 && machine->depth-- > 0;
    case OP_SWAP:
        return swap(machine);
    case OP_ROT:
        return rotate(machine);
    case OP_SKIP:
        return branch(machine, false);
    case OP_BRA:
        return branch(machine, true);
    case OP_NOP:
        return true;
    default:
        return op < OP_DUP ? push_constant(machine, op)
                           : run_unary(machine, op) || run_binary(machine, op);
    }
}

bool cfi_expression_evaluate(const struct cfi_context *context, const uint8_t *expression,
                             size_t n_bytes, const uintptr_t *initial, uintptr_t *ret_value)
{
    struct machine machine;

    machine.context = context;
    machine.start = expression;
    machine.cursor = (struct cfi_cursor){expression, expression + n_bytes, 0, false};
    machine.depth = 0;
    if (initial != NULL)
        push(&machine, *initial);
    for (unsigned n = 0; machine.cursor.at < machine.cursor.end; n++) {
        unsigned op = (unsigned)cfi_cursor_unsigned(&machine.cursor, 1);
        if (n == CFI_EXPRESSION_STEPS || !run_operation(&machine, op) || machine.cursor.is_bad)
            return false;
    }
    if (machine.depth == 0)
        return false;
    *ret_value = machine.stack[machine.depth - 1];
    return true;
}
