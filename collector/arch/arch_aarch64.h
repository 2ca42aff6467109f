/* SPDX-License-Identifier: MIT */
/*
 * arch_aarch64: everything the collector knows about AArch64. Register numbers are DWARF's.
 *
 * A return address may be signed (pointer authentication), but only on the stack. Code that uses a
 * word of the stack as an address calls arch_code_address first.
 */
#ifndef MTRACE_COLLECTOR_ARCH_AARCH64_H
#define MTRACE_COLLECTOR_ARCH_AARCH64_H

#include "collector/arch/link_register.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* The version of libc's oldest functions. */
#define ARCH_LIBC_VERSION "GLIBC_2.17"

enum {
    /* Relocations of words with the address of a function: for calls, for pointers in the GOT, for
     * data. */
    ARCH_RELOCATION_CALL = R_AARCH64_JUMP_SLOT,
    ARCH_RELOCATION_DATA = R_AARCH64_GLOB_DAT,
    ARCH_RELOCATION_WORD = R_AARCH64_ABS64,
};

/* ---- stacks ---------------------------------------------------------------------------------- */

enum {
    ARCH_FP = 29,
    ARCH_SP = 31,
    ARCH_RA = 32, /* the program counter; DWARF gives it no number of its own */
    ARCH_N_REGISTERS = 33,
    ARCH_RA_AT_CFA = -8, /* only of a step by the frame pointer, which takes it for the CFA - 16 */
    ARCH_RECORD_AT_FP = 0, /* where the frame pointer leads: those two words */
    ARCH_CODE_SHIFT = 1, /* low bits of an instruction's address that are always 0; one is enough */
    ARCH_CFI_OP_SIGNS_RA = 0x2d, /* DW_CFA_AARCH64_negate_ra_state */
    /* in the kernel's sigcontext pc directly follows sp */
    ARCH_SIGNAL_PC_BEHIND_SP = 8,
};

#define ARCH_RECORD_ENDS_FRAME 0 /* more of the same frame may follow the two words */

/* The register of the return address after a call; a caller has no value of its own in it. */
#define ARCH_LINK_REGISTERS ARCH_BIT(30)
/* Registers that a callee preserves unless its CFI says where they are: x19-x29. Also the return
 * address, for a function that has made no call. */
#define ARCH_CALLEE_SAVED ((uint64_t)0x7ff << 19 | ARCH_LINK_REGISTERS)

/* Callee-saved registers, stack pointer and pc of the function this is inlined in, by number. */
static inline __attribute__((always_inline)) void arch_capture_values(uintptr_t *values)
{
    register uintptr_t *value __asm__("x9") = values;

    __asm__ volatile("stp x19, x20, [%0, #152]\n\t"
                     "stp x21, x22, [%0, #168]\n\t"
                     "stp x23, x24, [%0, #184]\n\t"
                     "stp x25, x26, [%0, #200]\n\t"
                     "stp x27, x28, [%0, #216]\n\t"
                     "stp x29, x30, [%0, #232]\n\t"
                     "mov x10, sp\n\t"
                     "adr x11, .\n\t"
                     "stp x10, x11, [%0, #248]"
                     :
                     : "r"(value)
                     : "x10", "x11", "memory");
}

/* The address in a word that holds a return address. Uses xpaclri, which is a no-op on processors
 * without pointer authentication. */
static inline uintptr_t arch_code_address(uintptr_t word)
{
    register uintptr_t address __asm__("x30") = word;

    __asm__("hint #7" : "+r"(address));
    return address;
}

/* The two words of the frame of the function that uses this, which has a frame pointer. */
#define ARCH_RECORD() ((uintptr_t)__builtin_frame_address(0))

#define ARCH_HAS_SIGNAL_CFI 0 /* the kernel's own code, since 5.8 without */

/* Offset from the handler's return stack pointer to the interrupted registers, which the kernel
 * saved; -1: the code there is not: mov x8, #SYS_rt_sigreturn; svc #0. */
static inline int arch_signal_context(const uint8_t code[8])
{
    static const uint8_t wanted[8] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

    if (__builtin_memcmp(code, wanted, sizeof(wanted)) != 0)
        return -1;
    return 128 + (int)offsetof(ucontext_t, uc_mcontext); /* after the siginfo_t */
}

/* Offset of a register there; -1: not saved. */
static inline int arch_signal_offset(unsigned number)
{
    if (number == ARCH_RA)
        return (int)offsetof(mcontext_t, pc);
    if (number == ARCH_SP)
        return (int)offsetof(mcontext_t, sp);
    return (int)offsetof(mcontext_t, regs) + 8 * (int)number;
}

/* ---- the counter ----------------------------------------------------------------------------- */

#define ARCH_COUNTER_SOURCES "arch_sys_counter\n" /* the kernel's name for it */
#define ARCH_VDSO_CLOCK      "__kernel_clock_gettime"

/* Without a barrier the processor may read it early or late. */
static inline uint64_t arch_counter(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return ticks;
}

/* Reads it after all earlier instructions are done. */
static inline uint64_t arch_counter_after(void)
{
    __asm__ volatile("isb" : : : "memory");
    return arch_counter();
}

/* ---- system calls and bytes ------------------------------------------------------------------ */

enum {
    ARCH_SYSTEM_CALL_FORK = -1, /* clone is used instead */
};

static inline long arch_system_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

#define ARCH_HAS_BLOCK_COPY 1

/* Written so that the compiler does not replace the loops by calls of memcpy or memset, which use
 * them. */
static inline void arch_copy(void *to, const void *from, size_t size_bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    uint64_t word;

    for (; size_bytes >= sizeof(word); size_bytes -= sizeof(word)) {
        __asm__ volatile("ldr %0, [%1], #8\n\t"
                         "str %0, [%2], #8"
                         : "=&r"(word), "+r"(in), "+r"(out)
                         :
                         : "memory");
    }
    for (; size_bytes > 0; size_bytes--) {
        __asm__ volatile("ldrb %w0, [%1], #1\n\t"
                         "strb %w0, [%2], #1"
                         : "=&r"(word), "+r"(in), "+r"(out)
                         :
                         : "memory");
    }
}

static inline void arch_fill(void *to, int value, size_t size_bytes)
{
    uint8_t *out = to;
    const uint64_t word = (uint8_t)value * UINT64_C(0x0101010101010101);

    for (; size_bytes >= sizeof(word); size_bytes -= sizeof(word))
        __asm__ volatile("str %1, [%0], #8" : "+r"(out) : "r"(word) : "memory");
    for (; size_bytes > 0; size_bytes--)
        __asm__ volatile("strb %w1, [%0], #1" : "+r"(out) : "r"(word) : "memory");
}

/* ---- jumps of libmtrace-nop.so ---- */

/* All argument registers survive, the one for a large result, too. */
#define ARCH_NOP_FIRST_CALL                                                             \
    ".text\n"                                                                           \
    ".type nop_first_call, %function\n"                                                 \
    "nop_first_call:\n"                                                                 \
    "    stp x29, x30, [sp, #-96]!\n    mov x29, sp\n"                                  \
    "    stp x0, x1, [sp, #16]\n    stp x2, x3, [sp, #32]\n    stp x4, x5, [sp, #48]\n" \
    "    stp x6, x7, [sp, #64]\n    str x8, [sp, #80]\n"                                \
    "    bl nop_resolve\n"                                                              \
    "    ldp x0, x1, [sp, #16]\n    ldp x2, x3, [sp, #32]\n    ldp x4, x5, [sp, #48]\n" \
    "    ldp x6, x7, [sp, #64]\n    ldr x8, [sp, #80]\n"                                \
    "    ldp x29, x30, [sp], #96\n"                                                     \
    "    ret\n"

#define ARCH_NOP_JUMP(name, index)                           \
    ".globl " name "\n"                                      \
    ".type " name ", %function\n" name ":\n"                 \
    "    hint #34\n"                                         \
    "1:  adrp x16, g_nop_targets+8*" index "\n"              \
    "    ldr x17, [x16, #:lo12:g_nop_targets+8*" index "]\n" \
    "    cbz x17, 2f\n"                                      \
    "    br x17\n"                                           \
    "2:  stp x29, x30, [sp, #-16]!\n"                        \
    "    bl nop_first_call\n"                                \
    "    ldp x29, x30, [sp], #16\n"                          \
    "    b 1b\n"                                             \
    ".size " name ", .-" name "\n"

#endif
