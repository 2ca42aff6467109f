/* SPDX-License-Identifier: MIT */
/*
 * arch_call_on_stack. In assembly, because the compiler must not touch the stack between the two
 * stack pointers. Its CFI lets gdb, and C++ exceptions of a signal handler, pass through. A
 * function finds its data by its own address, which a call leaves in t9 ($25).
 */
#include "collector/arch/arch_mips64el.h"

__asm__(".pushsection .text\n"
        ".globl arch_call_on_stack\n"
        ".hidden arch_call_on_stack\n"
        ".type arch_call_on_stack, @function\n"
        ".balign 8\n"
        ".set push\n"
        ".set noreorder\n"
        "arch_call_on_stack:\n"
        ".cfi_startproc\n"
        "daddiu $sp, $sp, -16\n"
        ".cfi_def_cfa_offset 16\n"
        "sd $31, 8($sp)\n"
        "sd $fp, 0($sp)\n"
        ".cfi_offset 31, -8\n"
        ".cfi_offset 30, -16\n"
        "move $fp, $sp\n"
        ".cfi_def_cfa_register 30\n"
        "move $25, $4\n"
        "move $4, $5\n"
        "jalr $25\n"
        "move $sp, $6\n"
        "move $sp, $fp\n"
        ".cfi_def_cfa_register 29\n"
        "ld $31, 8($sp)\n"
        ".cfi_restore 31\n"
        "ld $fp, 0($sp)\n"
        ".cfi_restore 30\n"
        "daddiu $sp, $sp, 16\n"
        ".cfi_def_cfa_offset 0\n"
        "jr $31\n"
        "nop\n"
        ".cfi_endproc\n"
        ".set pop\n"
        ".size arch_call_on_stack, . - arch_call_on_stack\n"
        ".popsection\n");
