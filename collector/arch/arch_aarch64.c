/* SPDX-License-Identifier: MIT */
/*
 * arch_call_on_stack. In assembly, because the compiler must not touch the stack between the two
 * stack pointers. Its CFI lets gdb, and C++ exceptions of a signal handler, pass through. hint #34
 * is `bti c`, for a program whose landing pads are checked.
 */
#include "collector/arch/arch_aarch64.h"

__asm__(".pushsection .text\n"
        ".globl arch_call_on_stack\n"
        ".hidden arch_call_on_stack\n"
        ".type arch_call_on_stack, %function\n"
        ".balign 4\n"
        "arch_call_on_stack:\n"
        ".cfi_startproc\n"
        "hint #34\n"
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset x29, -16\n"
        ".cfi_offset x30, -8\n"
        "mov x29, sp\n"
        ".cfi_def_cfa_register x29\n"
        "mov x9, x0\n"
        "mov x0, x1\n"
        "mov sp, x2\n"
        "blr x9\n"
        "mov sp, x29\n"
        ".cfi_def_cfa_register sp\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        ".cfi_def_cfa_offset 0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size arch_call_on_stack, . - arch_call_on_stack\n"
        ".popsection\n");
