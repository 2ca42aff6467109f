/* SPDX-License-Identifier: MIT */
/*
 * arch_i386: everything the collector knows about 32-bit x86 on 32-bit and 64-bit kernels. Register
 * numbers are DWARF's.
 */
#ifndef MTRACE_COLLECTOR_ARCH_I386_H
#define MTRACE_COLLECTOR_ARCH_I386_H

#include "collector/arch/x86.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* The version of libc's oldest functions. */
#define ARCH_LIBC_VERSION "GLIBC_2.0"

enum {
    /* Relocations of words with the address of a function: for calls, for pointers in the GOT, for
     * data. */
    ARCH_RELOCATION_CALL = R_386_JMP_SLOT,
    ARCH_RELOCATION_DATA = R_386_GLOB_DAT,
    ARCH_RELOCATION_WORD = R_386_32,
};

/* ---- stacks ---------------------------------------------------------------------------------- */

enum {
    ARCH_SP = 4,
    ARCH_FP = 5,
    ARCH_RA = 8, /* return address column; as a register the program counter */
    ARCH_N_REGISTERS = 9,
    ARCH_RED_ZONE_BYTES = 0,
    /* from the esp of the kernel's sigcontext to its eip */
    ARCH_SIGNAL_PC_BEHIND_SP = 4 * (REG_EIP - REG_ESP),
};

/* Registers that a callee preserves unless its CFI says where they are: ebx, ebp, esi, edi. */
#define ARCH_CALLEE_SAVED (ARCH_BIT(3) | ARCH_BIT(5) | ARCH_BIT(6) | ARCH_BIT(7))

/* Callee-saved registers, stack pointer and pc of the function this is inlined in, by number. */
static inline __attribute__((always_inline)) void arch_capture_values(uintptr_t *values)
{
    __asm__ volatile("movl %%ebx, 12(%0)\n\t"
                     "movl %%esp, 16(%0)\n\t"
                     "movl %%ebp, 20(%0)\n\t"
                     "movl %%esi, 24(%0)\n\t"
                     "movl %%edi, 28(%0)\n\t"
                     "call 0f\n"
                     "0:\n\t"
                     "popl 32(%0)"
                     :
                     : "a"(values)
                     : "memory");
}

/* Programs of the other word size on the same kernels (process/exec_target.h); EM_NONE: none that
 * we record. */
#define ARCH_TRIPLET       "i386-linux-gnu"
#define ARCH_OTHER_TRIPLET "x86_64-linux-gnu"
#define ARCH_OTHER_MACHINE EM_X86_64

#define ARCH_VDSO_CLOCK "__vdso_clock_gettime64"

#define ARCH_HAS_SIGNAL_CFI 0 /* the kernel's or libc's code for it has none */

/*
 * Offset from the handler's return stack pointer to the interrupted registers, which the kernel
 * saved; -1: other code. With SA_SIGINFO there are three arguments, a siginfo_t and a ucontext_t.
 * Without it there is one argument, which is popped.
 */
static inline int arch_signal_context(const uint8_t code[8])
{
    /* mov $SYS_rt_sigreturn, %eax; int $0x80 */
    static const uint8_t with_info[7] = {0xb8, 0xad, 0x00, 0x00, 0x00, 0xcd, 0x80};
    /* pop %eax; mov $SYS_sigreturn, %eax; int $0x80 */
    static const uint8_t without[8] = {0x58, 0xb8, 0x77, 0x00, 0x00, 0x00, 0xcd, 0x80};

    if (__builtin_memcmp(code, without, sizeof(without)) == 0)
        return 4;
    if (__builtin_memcmp(code, with_info, sizeof(with_info)) == 0)
        return 12 + 128 + (int)offsetof(ucontext_t, uc_mcontext);
    return -1;
}

/* Offset of a register there. */
static inline int arch_signal_offset(unsigned number)
{
    static const uint8_t places[ARCH_N_REGISTERS] = {REG_EAX, REG_ECX, REG_EDX, REG_EBX, REG_ESP,
                                                     REG_EBP, REG_ESI, REG_EDI, REG_EIP};

    return 4 * places[number];
}

/* The return address set by makecontext, without CFI: lea (%esp,%ebx,4), %esp; cmpl $0, (%esp). */
static inline bool arch_is_stack_bottom(const uint8_t code[8])
{
    static const uint8_t wanted[7] = {0x8d, 0x24, 0x9c, 0x83, 0x3c, 0x24, 0x00};

    return __builtin_memcmp(code, wanted, sizeof(wanted)) == 0;
}

/* ---- system calls ---------------------------------------------------------------------------- */

enum {
    ARCH_SYSTEM_CALL_FORK = 2,
};

/* Not inline: the sixth argument is in the frame pointer, and a handler may run during the call. */
long arch_system_call(long number, long a, long b, long c, long d, long e, long f)
    __attribute__((visibility("hidden")));

/* ---- jumps of libmtrace-nop.so ---- */

/* All arguments are on the stack, which is 4 bytes below a multiple of 16. */
#define ARCH_NOP_JUMP(name, index)                                   \
    ".globl " name "\n"                                              \
    ".type " name ", @function\n" name ":\n"                         \
    "    endbr32\n"                                                  \
    "1:  call 2f\n"                                                  \
    "2:  popl %ecx\n"                                                \
    "    movl g_nop_targets-2b+4*" index "(%ecx), %eax\n"            \
    "    testl %eax, %eax\n    jne 3f\n"                             \
    "    subl $12, %esp\n    call nop_resolve\n    addl $12, %esp\n" \
    "    jmp 1b\n"                                                   \
    "3:  jmp *%eax\n"                                                \
    ".size " name ", .-" name "\n"

#endif
