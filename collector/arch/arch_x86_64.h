/* SPDX-License-Identifier: MIT */
/*
 * arch_x86_64: everything the collector knows about x86-64. Register numbers are DWARF's.
 */
#ifndef MTRACE_COLLECTOR_ARCH_X86_64_H
#define MTRACE_COLLECTOR_ARCH_X86_64_H

#include "collector/arch/x86.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of libc's oldest functions. */
#define ARCH_LIBC_VERSION "GLIBC_2.2.5"

enum {
    /* Relocations of words with the address of a function: for calls, for pointers in the GOT, for
     * data. */
    ARCH_RELOCATION_CALL = R_X86_64_JUMP_SLOT,
    ARCH_RELOCATION_DATA = R_X86_64_GLOB_DAT,
    ARCH_RELOCATION_WORD = R_X86_64_64,
};

/* ---- stacks ---------------------------------------------------------------------------------- */

enum {
    ARCH_FP = 6,
    ARCH_SP = 7,
    ARCH_RA = 16, /* return address column; as a register the program counter */
    ARCH_N_REGISTERS = 17,
    ARCH_RED_ZONE_BYTES = 128, /* below the stack pointer, still a function's own */
    /* in the kernel's sigcontext rip directly follows rsp */
    ARCH_SIGNAL_PC_BEHIND_SP = 8,
};

/* Registers that a callee preserves unless its CFI says where they are: rbx, rbp, r12-r15. */
#define ARCH_CALLEE_SAVED (ARCH_BIT(3) | ARCH_BIT(6) | (uint64_t)0xf << 12)

/* Callee-saved registers, stack pointer and pc of the function this is inlined in, by number. */
static inline __attribute__((always_inline)) void arch_capture_values(uintptr_t *values)
{
    __asm__ volatile("movq %%rbx, 24(%0)\n\t"
                     "movq %%rbp, 48(%0)\n\t"
                     "movq %%rsp, 56(%0)\n\t"
                     "movq %%r12, 96(%0)\n\t"
                     "movq %%r13, 104(%0)\n\t"
                     "movq %%r14, 112(%0)\n\t"
                     "movq %%r15, 120(%0)\n\t"
                     "leaq 0f(%%rip), %%rcx\n"
                     "0:\n\t"
                     "movq %%rcx, 128(%0)"
                     :
                     : "a"(values)
                     : "rcx", "memory");
}

/* Programs of the other word size on the same kernels (process/exec_target.h); EM_NONE: none that
 * we record. */
#define ARCH_TRIPLET       "x86_64-linux-gnu"
#define ARCH_OTHER_TRIPLET "i386-linux-gnu"
#define ARCH_OTHER_MACHINE EM_386

#define ARCH_VDSO_CLOCK "__vdso_clock_gettime"

#define ARCH_HAS_SIGNAL_CFI 1 /* handlers return to code in libc */

/* CFI describes where the kernel saved the interrupted registers. */
static inline int arch_signal_context(const uint8_t code[8])
{
    (void)code;
    return -1;
}

static inline int arch_signal_offset(unsigned number)
{
    (void)number;
    return -1;
}

/* The return address set by makecontext, for a libc without CFI there. This libc has CFI. */
static inline bool arch_is_stack_bottom(const uint8_t code[8])
{
    (void)code;
    return false;
}

/* ---- code that is written -------------------------------------------------------------------- */

#define ARCH_HAS_CODE_PATCHES 1

enum {
    ARCH_JUMP_BYTES = 5,
    ARCH_STUB_BYTES = 24,
    ARCH_NEAR_BYTES = 1 << 30, /* maximum distance between code for a direct jump */
};

/* Writes target - end as a 4-byte displacement; false: it is too far. */
static inline bool arch_write_displacement(uint8_t *at, uintptr_t end, uintptr_t target)
{
    int64_t distance = (int64_t)(target - end);
    int32_t displacement = (int32_t)distance;

    __builtin_memcpy(at, &displacement, sizeof(displacement));
    return displacement == distance;
}

/* A jump to be placed at `from`. */
static inline bool arch_write_jump(uint8_t bytes[ARCH_JUMP_BYTES], uintptr_t from, uintptr_t target)
{
    bytes[0] = 0xe9;
    return arch_write_displacement(bytes + 1, from + ARCH_JUMP_BYTES, target);
}

/* Code that jumps to a function with `sixth` as its sixth argument and all others untouched:
 * movabs $sixth, %r9; jmp *0(%rip); .quad target */
static inline void arch_write_stub(uint8_t bytes[ARCH_STUB_BYTES], uintptr_t sixth,
                                   uintptr_t target)
{
    static const uint8_t code[ARCH_STUB_BYTES] = {0x49, 0xb9, [10] = 0xff, 0x25};

    __builtin_memcpy(bytes, code, sizeof(code));
    __builtin_memcpy(bytes + 2, &sixth, sizeof(sixth));
    __builtin_memcpy(bytes + 16, &target, sizeof(target));
}

/* ---- system calls and bytes ------------------------------------------------------------------ */

enum {
    ARCH_SYSTEM_CALL_FORK = 57,
};

static inline long arch_system_call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* ---- jumps of libmtrace-nop.so ---- */

/* All argument registers survive; after the return address and eight pushes the stack is aligned.
 */
#define ARCH_NOP_FIRST_CALL                                        \
    ".text\n"                                                      \
    ".type nop_first_call, @function\n"                            \
    "nop_first_call:\n"                                            \
    "    push %rbp\n    push %rdi\n    push %rsi\n    push %rdx\n" \
    "    push %rcx\n    push %r8\n    push %r9\n    push %rax\n"   \
    "    call nop_resolve\n"                                       \
    "    pop %rax\n    pop %r9\n    pop %r8\n    pop %rcx\n"       \
    "    pop %rdx\n    pop %rsi\n    pop %rdi\n    pop %rbp\n"     \
    "    ret\n"

#define ARCH_NOP_JUMP(name, index)                   \
    ".globl " name "\n"                              \
    ".type " name ", @function\n" name ":\n"         \
    "    cmpq $0, g_nop_targets+8*" index "(%rip)\n" \
    "    jne 1f\n"                                   \
    "    call nop_first_call\n"                      \
    "1:  jmp *g_nop_targets+8*" index "(%rip)\n"     \
    ".size " name ", .-" name "\n"

#endif
