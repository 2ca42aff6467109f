/* SPDX-License-Identifier: MIT */
/*
 * arch_call_on_stack and arch_system_call. In assembly, because the compiler must not touch the
 * stack between the two stack pointers, nor r7. Their tables let gdb, and C++ exceptions of a
 * signal handler, pass through.
 */
#include "collector/arch/arch_arm.h"

__asm__(".pushsection .text\n"
        ".syntax unified\n"
        ".arm\n"
        ".globl arch_call_on_stack\n"
        ".hidden arch_call_on_stack\n"
        ".type arch_call_on_stack, %function\n"
        ".balign 4\n"
        "arch_call_on_stack:\n"
        ".fnstart\n"
        "push {r11, lr}\n"
        ".save {r11, lr}\n"
        "add r11, sp, #4\n"
        ".setfp r11, sp, #4\n"
        "mov r12, r0\n"
        "mov r0, r1\n"
        "mov sp, r2\n"
        "blx r12\n"
        "sub sp, r11, #4\n"
        "pop {r11, pc}\n"
        ".fnend\n"
        ".size arch_call_on_stack, . - arch_call_on_stack\n"
        ".popsection\n");

__asm__(".pushsection .text\n"
        ".syntax unified\n"
        ".arm\n"
        ".globl arch_system_call\n"
        ".hidden arch_system_call\n"
        ".type arch_system_call, %function\n"
        ".balign 4\n"
        "arch_system_call:\n"
        ".fnstart\n"
        "push {r4, r5, r7, lr}\n"
        ".save {r4, r5, r7, lr}\n"
        "mov r7, r0\n"
        "mov r0, r1\n"
        "mov r1, r2\n"
        "mov r2, r3\n"
        "ldr r3, [sp, #16]\n"
        "ldr r4, [sp, #20]\n"
        "ldr r5, [sp, #24]\n"
        "svc #0\n"
        "pop {r4, r5, r7, pc}\n"
        ".fnend\n"
        ".size arch_system_call, . - arch_system_call\n"
        ".popsection\n");

/*
 * Each unwind table refers to a routine that would read it. This one only satisfies the linker: an
 * unwinder uses its own routine, which the table names by a number. So the collector needs no
 * library except libc.
 */
void arch_read_table(void) __attribute__((visibility("hidden")));

void arch_read_table(void)
{
}

__asm__(
    ".globl __aeabi_unwind_cpp_pr0\n.hidden __aeabi_unwind_cpp_pr0\n.set __aeabi_unwind_cpp_pr0, arch_read_table\n"
    ".globl __aeabi_unwind_cpp_pr1\n.hidden __aeabi_unwind_cpp_pr1\n.set __aeabi_unwind_cpp_pr1, arch_read_table\n"
    ".globl __aeabi_unwind_cpp_pr2\n.hidden __aeabi_unwind_cpp_pr2\n.set __aeabi_unwind_cpp_pr2, arch_read_table\n");
