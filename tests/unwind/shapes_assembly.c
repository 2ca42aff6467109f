/* SPDX-License-Identifier: MIT */
/*
 * Frames that compilers do not make but hand-written assembly does: CFA in other registers, behind
 * expressions, registers saved in registers. The unwinder's compact rules cannot express these.
 */
#include "tests/unwind/probe.h"

#include <stdint.h>

typedef void call_function(void (*inner)(unsigned), unsigned depth);

/* CFA kept in rbx, as in ld.so's lazy binding. */
call_function in_rbx;
__asm__(".text\n"
        ".globl in_rbx\n.hidden in_rbx\n.type in_rbx, @function\n"
        "in_rbx:\n.cfi_startproc\n"
        "pushq %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
        "movq %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
        "subq $256, %rsp\nandq $-64, %rsp\n"
        "movq %rdi, %rax\nmovl %esi, %edi\ncall *%rax\n"
        "movq %rbx, %rsp\n.cfi_def_cfa_register %rsp\n"
        "popq %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n"
        "ret\n.cfi_endproc\n.size in_rbx, . - in_rbx\n");

/* The caller's stack pointer is a word of the frame: CFA = *(rsp + 24) + 8, an expression. */
call_function behind_expression;
__asm__(".text\n"
        ".globl behind_expression\n.hidden behind_expression\n.type behind_expression, @function\n"
        "behind_expression:\n.cfi_startproc\n"
        "movq %rsp, %rax\n"
        "subq $256, %rsp\nandq $-64, %rsp\n"
        "movq %rax, 24(%rsp)\n"
        /* DW_CFA_def_cfa_expression, 6 bytes: breg7 24; deref; plus_uconst 8; nop */
        ".cfi_escape 0x0f, 6, 0x77, 24, 0x06, 0x23, 8, 0x96\n"
        "movq %rdi, %rax\nmovl %esi, %edi\ncall *%rax\n"
        "movq 24(%rsp), %rsp\n.cfi_def_cfa %rsp, 8\n"
        "ret\n.cfi_endproc\n.size behind_expression, . - behind_expression\n");

/* rbp spends the call in r12, and r12 on the stack behind an expression. */
call_function register_in_register;
__asm__(".text\n"
        ".globl register_in_register\n.hidden register_in_register\n"
        ".type register_in_register, @function\n"
        "register_in_register:\n.cfi_startproc\n"
        "pushq %r12\n.cfi_adjust_cfa_offset 8\n"
        /* DW_CFA_expression r12, 3 bytes (CFA is pushed first): const1s -16; plus */
        ".cfi_escape 0x10, 12, 3, 0x09, 0xf0, 0x22\n"
        "movq %rbp, %r12\n.cfi_register %rbp, %r12\n"
        "movq $12345, %rbp\n"
        "movq %rdi, %rax\nmovl %esi, %edi\ncall *%rax\n"
        "movq %r12, %rbp\n.cfi_restore %rbp\n"
        "popq %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
        "ret\n.cfi_endproc\n.size register_in_register, . - register_in_register\n");

static probe_function *g_probe;
static uint32_t g_seed = 5;

static call_function *const g_calls[] = {in_rbx, behind_expression, register_in_register};

__attribute__((noinline)) static void descend(unsigned depth)
{
    g_probe();
    for (unsigned i = 0; depth > 0 && i < 2; i++) {
        g_seed = g_seed * 1664525u + 1013904223u;
        g_calls[(g_seed >> 16) % 3](descend, depth - 1);
        g_probe();
    }
}

void shapes_run(probe_function *probe)
{
    g_probe = probe;
    for (unsigned i = 0; i < 20; i++)
        descend(1 + i % 6);
}
