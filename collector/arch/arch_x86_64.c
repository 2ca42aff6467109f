/* SPDX-License-Identifier: MIT */
/*
 * arch_call_on_stack. In assembly, because the compiler must not touch the stack between the two
 * stack pointers. Its CFI lets gdb, and C++ exceptions of a signal handler, pass through.
 */
#include "collector/arch/arch_x86_64.h"

__asm__(".pushsection .text\n"
        ".globl arch_call_on_stack\n"
        ".hidden arch_call_on_stack\n"
        ".type arch_call_on_stack, @function\n"
        "arch_call_on_stack:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "movq %rdi, %rax\n"
        "movq %rsi, %rdi\n"
        "movq %rdx, %rsp\n"
        "call *%rax\n"
        "movq %rbp, %rsp\n"
        "popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size arch_call_on_stack, . - arch_call_on_stack\n"
        ".popsection\n");
