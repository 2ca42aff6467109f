/* SPDX-License-Identifier: MIT */
/*
 * arch_riscv64: everything the collector knows about 64-bit RISC-V. Register numbers are DWARF's.
 */
#ifndef MTRACE_COLLECTOR_ARCH_RISCV64_H
#define MTRACE_COLLECTOR_ARCH_RISCV64_H

#include "collector/arch/link_register.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* The version of libc's oldest functions. */
#define ARCH_LIBC_VERSION "GLIBC_2.27"

enum {
    /* Relocations of words with the address of a function: for calls, for pointers in the GOT, for
     * data. */
    ARCH_RELOCATION_CALL = R_RISCV_JUMP_SLOT,
    ARCH_RELOCATION_DATA = R_RISCV_64,
    ARCH_RELOCATION_WORD = R_RISCV_64,
};

/* ---- stacks ---------------------------------------------------------------------------------- */

enum {
    ARCH_SP = 2,
    ARCH_FP = 8,
    ARCH_RA = 32, /* the program counter; DWARF gives it no number of its own */
    ARCH_N_REGISTERS = 33,
    ARCH_RA_AT_CFA = -8,       /* of a function with a frame pointer */
    ARCH_RECORD_AT_FP = -16,   /* the frame pointer is the CFA: those two words are below it */
    ARCH_CODE_SHIFT = 1,       /* low bits of an instruction's address that are always 0 */
    ARCH_CFI_OP_SIGNS_RA = -1, /* there is no such instruction of CFI */
    /* the kernel's sigcontext begins with pc, ra and sp */
    ARCH_SIGNAL_PC_BEHIND_SP = -16,
};

#define ARCH_RECORD_ENDS_FRAME 1 /* the caller's frame follows the two words */

/* The register of the return address after a call; a caller has no value of its own in it. */
#define ARCH_LINK_REGISTERS ARCH_BIT(1)
/* Registers that a callee preserves unless its CFI says where they are: s0-s11. Also the return
 * address, for a function that has made no call. */
#define ARCH_CALLEE_SAVED (ARCH_BIT(8) | ARCH_BIT(9) | (uint64_t)0x3ff << 18 | ARCH_LINK_REGISTERS)

/* Callee-saved registers, stack pointer and pc of the function this is inlined in, by number. */
static inline __attribute__((always_inline)) void arch_capture_values(uintptr_t *values)
{
    register uintptr_t *value __asm__("t0") = values;

    __asm__ volatile("sd sp, 16(%0)\n\t"
                     "sd s0, 64(%0)\n\t"
                     "sd s1, 72(%0)\n\t"
                     "sd s2, 144(%0)\n\t"
                     "sd s3, 152(%0)\n\t"
                     "sd s4, 160(%0)\n\t"
                     "sd s5, 168(%0)\n\t"
                     "sd s6, 176(%0)\n\t"
                     "sd s7, 184(%0)\n\t"
                     "sd s8, 192(%0)\n\t"
                     "sd s9, 200(%0)\n\t"
                     "sd s10, 208(%0)\n\t"
                     "sd s11, 216(%0)\n\t"
                     "auipc t1, 0\n\t"
                     "sd t1, 256(%0)"
                     :
                     : "r"(value)
                     : "t1", "memory");
}

/* The address in a word that holds a return address. */
static inline uintptr_t arch_code_address(uintptr_t word)
{
    return word;
}

/* The two words of the frame of the function that uses this, which has a frame pointer. */
#define ARCH_RECORD() ((uintptr_t)__builtin_frame_address(0) - 16)

#define ARCH_HAS_SIGNAL_CFI 0 /* the kernel's own code, whose CFI names no register */

/* Offset from the handler's return stack pointer to the interrupted registers, which the kernel
 * saved; -1: the code there is not: li a7, SYS_rt_sigreturn; ecall. */
static inline int arch_signal_context(const uint8_t code[8])
{
    static const uint8_t wanted[8] = {0x93, 0x08, 0xb0, 0x08, 0x73, 0x00, 0x00, 0x00};

    if (__builtin_memcmp(code, wanted, sizeof(wanted)) != 0)
        return -1;
    return 128 + (int)offsetof(ucontext_t, uc_mcontext); /* after the siginfo_t */
}

/* Offset of a register there; -1: not saved. */
static inline int arch_signal_offset(unsigned number)
{
    if (number == 0) /* always 0: pc is in its place */
        return -1;
    return (number == ARCH_RA ? 0 : 8 * (int)number);
}

/* ---- the counter ----------------------------------------------------------------------------- */

#define ARCH_COUNTER_SOURCES "riscv_clocksource\n" /* the kernel's name for it */
#define ARCH_VDSO_CLOCK      "__vdso_clock_gettime"

/* Without a barrier the processor may read it early or late. */
static inline uint64_t arch_counter(void)
{
    uint64_t ticks;

    __asm__ volatile("rdtime %0" : "=r"(ticks) : : "memory");
    return ticks;
}

/* Reads it after all earlier instructions are done. */
static inline uint64_t arch_counter_after(void)
{
    __asm__ volatile("fence iorw, iorw" : : : "memory");
    return arch_counter();
}

/* ---- system calls and bytes ------------------------------------------------------------------ */

enum {
    ARCH_SYSTEM_CALL_FORK = -1, /* clone is used instead */
};

static inline long arch_system_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = f;

    __asm__ volatile("ecall"
                     : "+r"(a0)
                     : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
                     : "memory");
    return a0;
}

/* ---- jumps of libmtrace-nop.so ---- */

/* All argument registers survive. */
#define ARCH_NOP_FIRST_CALL                                                        \
    ".text\n"                                                                      \
    ".type nop_first_call, @function\n"                                            \
    "nop_first_call:\n"                                                            \
    "    addi sp, sp, -80\n    sd ra, 0(sp)\n"                                     \
    "    sd a0, 8(sp)\n    sd a1, 16(sp)\n    sd a2, 24(sp)\n    sd a3, 32(sp)\n"  \
    "    sd a4, 40(sp)\n    sd a5, 48(sp)\n    sd a6, 56(sp)\n    sd a7, 64(sp)\n" \
    "    call nop_resolve\n"                                                       \
    "    ld a0, 8(sp)\n    ld a1, 16(sp)\n    ld a2, 24(sp)\n    ld a3, 32(sp)\n"  \
    "    ld a4, 40(sp)\n    ld a5, 48(sp)\n    ld a6, 56(sp)\n    ld a7, 64(sp)\n" \
    "    ld ra, 0(sp)\n    addi sp, sp, 80\n"                                      \
    "    ret\n"

#define ARCH_NOP_JUMP(name, index)             \
    ".globl " name "\n"                        \
    ".type " name ", @function\n" name ":\n"   \
    "1:  lla t0, g_nop_targets+8*" index "\n"  \
    "    ld t1, 0(t0)\n"                       \
    "    beqz t1, 2f\n"                        \
    "    jr t1\n"                              \
    "2:  addi sp, sp, -16\n    sd ra, 0(sp)\n" \
    "    call nop_first_call\n"                \
    "    ld ra, 0(sp)\n    addi sp, sp, 16\n"  \
    "    j 1b\n"                               \
    ".size " name ", .-" name "\n"

#endif
