/* SPDX-License-Identifier: MIT */
/*
 * arch_arm: everything the collector knows about ARMv7, 32 bits, EABI with hardware floating point.
 *
 * Register numbers are DWARF's, which are the processor's.
 *
 * The index and tables of the exception handling ABI describe how stacks are unwound
 * (unwind/exidx.h), not CFI. They describe a function where it calls, not its first and last
 * instructions.
 * The collector is compiled as ARM code that never touches r7 (cmake/architecture.cmake). r7 is the
 * frame pointer of the program's Thumb code, and our functions keep the program's value.
 * Bit 0 of an address that is called or returned to means Thumb. Everywhere else the collector uses
 * addresses of instructions without it (arch_code_address). So the byte before a return address is
 * odd, and an interrupted pc is even.
 */
#ifndef MTRACE_COLLECTOR_ARCH_ARM_H
#define MTRACE_COLLECTOR_ARCH_ARM_H

#define ARCH_HAS_COUNTER      false /* see below */
#define ARCH_HAS_STACK_BOTTOM 1

/* Programs of the other word size on the same kernels (process/exec_target.h). */
#define ARCH_TRIPLET       "arm-linux-gnueabihf"
#define ARCH_OTHER_TRIPLET "aarch64-linux-gnu"
#define ARCH_OTHER_MACHINE EM_AARCH64

#include "collector/arch/code_frame.h"
#include "collector/arch/link_register.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* The version of libc's oldest functions. */
#define ARCH_LIBC_VERSION "GLIBC_2.4"

enum {
    /* Relocations of words with the address of a function: for calls, for pointers in the GOT, for
     * data. */
    ARCH_RELOCATION_CALL = R_ARM_JUMP_SLOT,
    ARCH_RELOCATION_DATA = R_ARM_GLOB_DAT,
    ARCH_RELOCATION_WORD = R_ARM_ABS32,
};

/* ---- stacks ---------------------------------------------------------------------------------- */

enum {
    ARCH_FP =
        7, /* of Thumb code, which Debian's is; of ARM code it is r11, one of the others here */
    ARCH_SP = 13,
    ARCH_RA = 15, /* the program counter */
    ARCH_N_REGISTERS = 16,
    ARCH_RA_AT_CFA = -4,   /* of most functions */
    ARCH_FAR_RA_BITS = 3,  /* most words between the saved frame pointer and the return address */
    ARCH_RECORD_AT_FP = 0, /* target of the frame pointer, if a compiler made a chain (clang) */
    ARCH_CODE_SHIFT = 1,   /* low bits of an instruction's address that are always 0 */
    ARCH_CFI_OP_SIGNS_RA = -1,
    /* the kernel's sigcontext has lr between sp and pc */
    ARCH_SIGNAL_PC_BEHIND_SP = 8,
    ARCH_ENTRY_BYTES = 16, /* pushed by the program's entry when it calls */
};

#define ARCH_RECORD_ENDS_FRAME 0 /* more of the same frame may follow the two words */
#define ARCH_HAS_EXIDX         1
#define ARCH_HAS_CODE_FRAMES   1  /* for code that the tables mark as not unwindable */
#define ARCH_RETURN_COLUMN     14 /* of its rows */

/* The register of the return address after a call; a caller has no value of its own in it. */
#define ARCH_LINK_REGISTERS ARCH_BIT(14)
/* Registers that a callee preserves unless it says where they are: r4-r11. Also the return address,
 * for a function that has made no call. */
#define ARCH_CALLEE_SAVED ((uint64_t)0xff << 4 | ARCH_LINK_REGISTERS)

enum {
    ARCH_CALL_BYTES = 4,           /* at most */
    ARCH_CODE_BEFORE_BYTES = 4100, /* maximum distance of a constant */
};

/* Callee-saved registers, stack pointer and pc of the function this is inlined in, by number. */
static inline __attribute__((always_inline)) void arch_capture_values(uintptr_t *values)
{
    register uintptr_t *value __asm__("r1") = values;

    __asm__ volatile("add r2, %0, #16\n\t"
                     "stmia r2, {r4-r11}\n\t"
                     "adr r3, .\n\t"
                     "str sp, [%0, #52]\n\t"
                     "str r3, [%0, #60]"
                     :
                     : "r"(value)
                     : "r2", "r3", "memory");
}

/* The address in a word that holds a return address. */
static inline uintptr_t arch_code_address(uintptr_t word)
{
    return word & ~(uintptr_t)1;
}

#define ARCH_RETURN_ADDRESS() arch_code_address((uintptr_t)__builtin_return_address(0))

/* Is the instruction before a return address a call? Bit 0 of the word says ARM or Thumb code. */
static inline bool arch_is_behind_call(const uint8_t before[ARCH_CALL_BYTES], uintptr_t word)
{
    const uint32_t first = (uint32_t)before[0] | (uint32_t)before[1] << 8;
    const uint32_t second = (uint32_t)before[2] | (uint32_t)before[3] << 8;
    const uint32_t whole = first | second << 16;

    if (word & 1) /* bl, blx #; blx register */
        return ((first & 0xf800) == 0xf000 && (second & 0xc000) == 0xc000)
               || (second & 0xff87) == 0x4780;
    return (whole & 0x0f000000) == 0x0b000000 || (whole & 0xfe000000) == 0xfa000000
           || (whole & 0x0ffffff0) == 0x012fff30;
}

/* The two words of the frame of the function that uses this; r11 is its frame pointer. */
#define ARCH_RECORD() ((uintptr_t)__builtin_frame_address(0) - 4)

/* The caller's frame pointer at the entry of the function that uses this; no code of ours changes
 * it. */
static inline __attribute__((always_inline)) uintptr_t arch_caller_fp(void)
{
    uintptr_t fp;

    __asm__ volatile("mov %0, r7" : "=r"(fp));
    return fp;
}

#define ARCH_CALLER_FP() arch_caller_fp()

#define ARCH_VDSO_CLOCK "__vdso_clock_gettime64"

#define ARCH_HAS_SIGNAL_CFI 0 /* libc's code for it describes kernels before Linux 2.6.18 */

/*
 * Offset from the handler's return stack pointer to the interrupted registers, which the kernel
 * saved; -1: the code there is not: mov r7, #SYS_sigreturn or #SYS_rt_sigreturn; svc #0, as ARM or
 * Thumb code. Both have a ucontext_t, the latter after a siginfo_t.
 */
static inline int arch_signal_context(const uint8_t code[8])
{
    static const uint8_t arm[2][8] = {{0x77, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef},
                                      {0xad, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef}};
    static const uint8_t thumb[2][6] = {{0x4f, 0xf0, 0x77, 0x07, 0x00, 0xdf},
                                        {0x4f, 0xf0, 0xad, 0x07, 0x00, 0xdf}};
    static const uint8_t short_thumb[2][4] = {{0x77, 0x27, 0x00, 0xdf}, {0xad, 0x27, 0x00, 0xdf}};
    static const uint8_t kernel[2][4] = {{0x77, 0x70, 0xa0, 0xe3}, {0xad, 0x70, 0xa0, 0xe3}};

    for (int has_info = 0; has_info < 2; has_info++)
        if (__builtin_memcmp(code, arm[has_info], sizeof(arm[0])) == 0
            || __builtin_memcmp(code, thumb[has_info], sizeof(thumb[0])) == 0
            || __builtin_memcmp(code, short_thumb[has_info], sizeof(short_thumb[0])) == 0
            || (__builtin_memcmp(code, kernel[has_info], sizeof(kernel[0])) == 0
                && code[7] == 0xef)) /* svc #number, of the OABI, as well */
            return (has_info ? 128 : 0) + (int)offsetof(ucontext_t, uc_mcontext);
    return -1;
}

/* Offset of a register there. */
static inline int arch_signal_offset(unsigned number)
{
    return (int)offsetof(mcontext_t, arm_r0) + 4 * (int)number;
}

/*
 * The return address of the first function of a stack, which no table marks as the end: of
 * makecontext, movs r0, r4; bne; of a thread, mov r7, #SYS_exit; svc #0.
 */
static inline bool arch_is_stack_bottom(const uint8_t code[8])
{
    static const uint8_t context[4] = {0x04, 0x00, 0xb0, 0xe1};
    static const uint8_t thread[8] = {0x01, 0x70, 0xa0, 0xe3, 0x00, 0x00, 0x00, 0xef};
    static const uint8_t thumb_thread[6] = {0x4f, 0xf0, 0x01, 0x07, 0x00, 0xdf};

    return (__builtin_memcmp(code, context, sizeof(context)) == 0 && code[7] == 0x1a)
           || __builtin_memcmp(code, thread, sizeof(thread)) == 0
           || __builtin_memcmp(code, thumb_thread, sizeof(thumb_thread)) == 0;
}

/* ---- the counter -------------------------------------------------------------------------------
 * No counter is present in every processor and readable by programs under every kernel. */

#define ARCH_COUNTER_SOURCES "arch_sys_counter\n"

/* ---- system calls and bytes ------------------------------------------------------------------ */

enum {
    ARCH_SYSTEM_CALL_FORK = 2,
};

/* Not inline: the number is in r7, and a handler may run during the call. */
long arch_system_call(long number, long a, long b, long c, long d, long e, long f)
    __attribute__((visibility("hidden")));

#define ARCH_HAS_BLOCK_COPY 1

/* Written so that the compiler does not replace the loops by calls of memcpy or memset, which use
 * them. */
static inline void arch_copy(void *to, const void *from, size_t size_bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    uint32_t word;

    if ((((uintptr_t)to | (uintptr_t)from) & (sizeof(word) - 1)) == 0)
        for (; size_bytes >= sizeof(word); size_bytes -= sizeof(word))
            __asm__ volatile("ldr %0, [%1], #4\n\t"
                             "str %0, [%2], #4"
                             : "=&r"(word), "+r"(in), "+r"(out)
                             :
                             : "memory");
    for (; size_bytes > 0; size_bytes--)
        __asm__ volatile("ldrb %0, [%1], #1\n\t"
                         "strb %0, [%2], #1"
                         : "=&r"(word), "+r"(in), "+r"(out)
                         :
                         : "memory");
}

static inline void arch_fill(void *to, int value, size_t size_bytes)
{
    uint8_t *out = to;
    const uint32_t word = (uint8_t)value * UINT32_C(0x01010101);

    for (; size_bytes > 0 && (uintptr_t)out % sizeof(word) != 0; size_bytes--)
        __asm__ volatile("strb %1, [%0], #1" : "+r"(out) : "r"(word) : "memory");
    for (; size_bytes >= sizeof(word); size_bytes -= sizeof(word))
        __asm__ volatile("str %1, [%0], #4" : "+r"(out) : "r"(word) : "memory");
    for (; size_bytes > 0; size_bytes--)
        __asm__ volatile("strb %1, [%0], #1" : "+r"(out) : "r"(word) : "memory");
}

/* ---- jumps of libmtrace-nop.so ---- */

/* All argument registers survive. */
#define ARCH_NOP_FIRST_CALL             \
    ".text\n"                           \
    ".syntax unified\n"                 \
    ".arm\n"                            \
    ".type nop_first_call, %function\n" \
    "nop_first_call:\n"                 \
    "    push {r0-r3, r12, lr}\n"       \
    "    bl nop_resolve\n"              \
    "    pop {r0-r3, r12, pc}\n"

#define ARCH_NOP_JUMP(name, index)           \
    ".globl " name "\n"                      \
    ".type " name ", %function\n" name ":\n" \
    "1:  ldr r12, 3f\n"                      \
    "2:  add r12, pc, r12\n"                 \
    "    ldr r12, [r12, #4*(" index ")]\n"   \
    "    cmp r12, #0\n"                      \
    "    bxne r12\n"                         \
    "    push {r12, lr}\n"                   \
    "    bl nop_first_call\n"                \
    "    pop {r12, lr}\n"                    \
    "    b 1b\n"                             \
    "3:  .word g_nop_targets - (2b + 8)\n"   \
    ".size " name ", .-" name "\n"

#endif
