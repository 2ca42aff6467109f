/* SPDX-License-Identifier: MIT */
/*
 * arch_mips64el: everything the collector knows about 64-bit MIPS (n64), little-endian. Register
 * numbers are DWARF's.
 *
 * A frame pointer leads to the lower end of its own frame, and not to the caller's frame pointer.
 * Compilers write no CFI for C by default, so a frame is found by the instructions that made it
 * (arch_mips64el_code.c).
 */
#ifndef MTRACE_COLLECTOR_ARCH_MIPS64EL_H
#define MTRACE_COLLECTOR_ARCH_MIPS64EL_H

#define ARCH_HAS_COUNTER      false /* see below */
#define ARCH_HAS_STACK_BOTTOM 1

#include "collector/arch/code_frame.h"
#include "collector/arch/link_register.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* The version of libc's oldest functions. */
#define ARCH_LIBC_VERSION "GLIBC_2.0"

enum {
    /* Relocations of words with the address of a function, in data. For calls they are in the GOT,
     * without a relocation. */
    ARCH_RELOCATION_CALL = R_MIPS_JUMP_SLOT,
    ARCH_RELOCATION_DATA = R_MIPS_REL32,
    ARCH_RELOCATION_WORD = R_MIPS_REL32,
};

/* ---- stacks ---------------------------------------------------------------------------------- */

enum {
    ARCH_SP = 29,
    ARCH_FP = 30,
    ARCH_RA = 32, /* the program counter; DWARF gives it no number of its own */
    ARCH_N_REGISTERS = 33,
    ARCH_RA_AT_CFA = -8,       /* in functions with a frame pointer, below variadic arguments */
    ARCH_RECORD_AT_FP = 0,     /* nowhere: see ARCH_HAS_RECORDS */
    ARCH_ENTRY_BYTES = 32,     /* the program's entry aligns the stack before it calls */
    ARCH_CODE_SHIFT = 2,       /* low bits of an instruction's address that are always 0 */
    ARCH_CFI_OP_SIGNS_RA = -1, /* there is no such instruction of CFI */
    /* before pc the kernel's sigcontext has 32 registers, 32 of the FPU, and 8 for products */
    ARCH_SIGNAL_PC_BEHIND_SP = 8 * (32 - 29 + 32 + 8),
};

#define ARCH_HAS_RECORDS       0 /* a frame pointer does not lead to the caller's */
#define ARCH_HAS_CODE_FRAMES   1
#define ARCH_RETURN_COLUMN     31 /* of its rows */
#define ARCH_RECORD_ENDS_FRAME 1

/* The register of the return address after a call; a caller has no value of its own in it. */
#define ARCH_LINK_REGISTERS ARCH_BIT(31)
/* Registers that a callee preserves unless its CFI says where they are: s0-s7, gp and fp. Also the
 * return address, for a function that has made no call. */
#define ARCH_CALLEE_SAVED ((uint64_t)0xff << 16 | ARCH_BIT(28) | ARCH_BIT(30) | ARCH_LINK_REGISTERS)

enum {
    ARCH_CALL_BYTES = 8, /* with its delay slot */
    ARCH_CODE_BEFORE_BYTES = 0,
};

/* jalr with ra as its link register, jal, and branch-and-link. The return address follows the delay
 * slot. */
static inline bool arch_is_behind_call(const uint8_t before[ARCH_CALL_BYTES], uintptr_t pc)
{
    uint32_t instruction;

    (void)pc;
    __builtin_memcpy(&instruction, before, sizeof(instruction));
    return (instruction & 0xfc00f83f) == 0x0000f809 || instruction >> 26 == 3
           || (instruction >> 26 == 1 && (instruction >> 16 & 0x1c) == 0x10);
}

/* Callee-saved registers, stack pointer and pc of the function this is inlined in, by number. */
static inline __attribute__((always_inline)) void arch_capture_values(uintptr_t *values)
{
    register uintptr_t *value __asm__("$8") = values;

    __asm__ volatile(".set push\n\t"
                     ".set noreorder\n\t"
                     ".set noat\n\t"
                     "sd $16, 128(%0)\n\t"
                     "sd $17, 136(%0)\n\t"
                     "sd $18, 144(%0)\n\t"
                     "sd $19, 152(%0)\n\t"
                     "sd $20, 160(%0)\n\t"
                     "sd $21, 168(%0)\n\t"
                     "sd $22, 176(%0)\n\t"
                     "sd $23, 184(%0)\n\t"
                     "sd $28, 224(%0)\n\t"
                     "sd $29, 232(%0)\n\t"
                     "sd $30, 240(%0)\n\t"
                     "bal 1f\n\t"
                     "nop\n"
                     "1:\n\t"
                     "sd $31, 256(%0)\n\t"
                     ".set pop"
                     :
                     : "r"(value)
                     : "$31", "memory");
}

/* The address in a word that holds a return address. */
static inline uintptr_t arch_code_address(uintptr_t word)
{
    return word;
}

/*
 * The two words of the frame of the function that uses this, which must not be variadic. The return
 * address is the highest saved register. The frame pointer is next to it; it is saved because this
 * code requests it.
 */
#define ARCH_RECORD()                                                       \
    __extension__({                                                         \
        uintptr_t end_of_frame = ARCH_CFA();                                \
        __asm__("" : "+r"(end_of_frame) : "r"(__builtin_frame_address(0))); \
        end_of_frame - 16;                                                  \
    })

#define ARCH_HAS_SIGNAL_CFI 0 /* the kernel's own code, whose CFI names no register */

/* Offset from the handler's return stack pointer to the interrupted registers, which the kernel
 * saved; -1: the code there is not: li v0, SYS_rt_sigreturn; syscall. */
static inline int arch_signal_context(const uint8_t code[8])
{
    static const uint8_t wanted[8] = {0x5b, 0x14, 0x02, 0x24, 0x0c, 0x00, 0x00, 0x00};

    if (__builtin_memcmp(code, wanted, sizeof(wanted)) != 0)
        return -1;
    /* after space for arguments, the former code, and the siginfo_t */
    return 16 + 8 + 128 + (int)offsetof(ucontext_t, uc_mcontext);
}

/* Offset of a register there; -1: not saved. */
static inline int arch_signal_offset(unsigned number)
{
    if (number == 0) /* always 0 */
        return -1;
    if (number == ARCH_RA)
        return (int)offsetof(mcontext_t, pc);
    return (int)offsetof(mcontext_t, gregs) + 8 * (int)number;
}

/* The return address set by makecontext, without CFI: move gp, s1; beqz s0, to where the thread
 * ends. */
static inline bool arch_is_stack_bottom(const uint8_t code[8])
{
    static const uint8_t wanted[8] = {0x25, 0xe0, 0x20, 0x02, 0x06, 0x00, 0x00, 0x12};

    return __builtin_memcmp(code, wanted, sizeof(wanted)) == 0;
}

/* ---- the counter -------------------------------------------------------------------------------
 * Each core has a 32-bit counter that wraps every few seconds, so it is not used. The vdso makes a
 * clock of it. */

#define ARCH_COUNTER_SOURCES "" /* the kernel's name for it */
#define ARCH_VDSO_CLOCK      "__vdso_clock_gettime"

/* ---- system calls and bytes ------------------------------------------------------------------ */

enum {
    ARCH_SYSTEM_CALL_FORK = 5056,
};

/* The kernel's structure differs from libc's struct stat64. */
#define ARCH_HAS_FILE_STATUS 1

struct arch_file_status {
    uint32_t st_dev, unused[3];
    uint64_t st_ino;
    uint32_t st_mode, st_nlink, st_uid, st_gid, st_rdev, unused_too[3];
    int64_t st_size;
    uint32_t times[4], st_ctime_seconds, unused_time, st_blksize, unused_last;
    uint64_t st_blocks;
};

/* The kernel returns a positive error number and a separate error flag. */
static inline long arch_system_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long v0 __asm__("$2") = number;
    register long a0 __asm__("$4") = a;
    register long a1 __asm__("$5") = b;
    register long a2 __asm__("$6") = c;
    register long a3 __asm__("$7") = d;
    register long a4 __asm__("$8") = e;
    register long a5 __asm__("$9") = f;

    __asm__ volatile("syscall"
                     : "+r"(v0), "+r"(a3)
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a4), "r"(a5)
                     : "$1", "$3", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi",
                       "lo", "memory");
    return a3 != 0 && v0 > 0 ? -v0 : v0;
}

#define ARCH_HAS_OWN_NUMBERS 1

/* Converts to the flags of other processors, which the log uses. */
static inline unsigned arch_map_flags(int flags)
{
    static const struct {
        unsigned own, usual;
    } pairs[] = {{0x400, 0x4000},    {0x800, 0x20},     {0x1000, 0x100},   {0x2000, 0x800},
                 {0x4000, 0x1000},   {0x8000, 0x2000},  {0x10000, 0x8000}, {0x20000, 0x10000},
                 {0x40000, 0x20000}, {0x80000, 0x40000}};

    const unsigned same = 0xfff0001f; /* of those below, and the size of huge pages */
    unsigned usual = (unsigned)flags & same;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if ((unsigned)flags & pairs[i].own)
            usual |= pairs[i].usual;
    return usual;
}

/* Converts the errors of allocating calls; those up to ERANGE are the same. */
static inline unsigned arch_errno(int error)
{
    switch (error) {
    case 79: /* EOVERFLOW */
        return 75;
    case 89: /* ENOSYS */
        return 38;
    case 122: /* EOPNOTSUPP */
        return 95;
    default:
        return (unsigned)error;
    }
}

/* ---- jumps of libmtrace-nop.so ---- */

/* All argument registers survive, t9 and gp. t3 ($15) is our gp. */
#define ARCH_NOP_FIRST_CALL                                                              \
    ".text\n"                                                                            \
    ".type nop_first_call, @function\n"                                                  \
    ".set push\n    .set noreorder\n"                                                    \
    "nop_first_call:\n"                                                                  \
    "    daddiu $sp, $sp, -96\n    sd $31, 0($sp)\n"                                     \
    "    sd $4, 8($sp)\n    sd $5, 16($sp)\n    sd $6, 24($sp)\n    sd $7, 32($sp)\n"    \
    "    sd $8, 40($sp)\n    sd $9, 48($sp)\n    sd $10, 56($sp)\n    sd $11, 64($sp)\n" \
    "    sd $28, 72($sp)\n    sd $25, 80($sp)\n"                                         \
    "    move $28, $15\n"                                                                \
    "    ld $25, %got_disp(nop_resolve)($28)\n"                                          \
    "    jalr $25\n    nop\n"                                                            \
    "    ld $4, 8($sp)\n    ld $5, 16($sp)\n    ld $6, 24($sp)\n    ld $7, 32($sp)\n"    \
    "    ld $8, 40($sp)\n    ld $9, 48($sp)\n    ld $10, 56($sp)\n    ld $11, 64($sp)\n" \
    "    ld $28, 72($sp)\n    ld $25, 80($sp)\n"                                         \
    "    ld $31, 0($sp)\n    jr $31\n    daddiu $sp, $sp, 96\n"                          \
    ".set pop\n"

#define ARCH_NOP_JUMP(name, index)                            \
    ".globl " name "\n"                                       \
    ".type " name ", @function\n"                             \
    ".set push\n    .set noreorder\n" name ":\n"              \
    "1:  lui $15, %hi(%neg(%gp_rel(" name ")))\n"             \
    "    daddu $15, $15, $25\n"                               \
    "    daddiu $15, $15, %lo(%neg(%gp_rel(" name ")))\n"     \
    "    ld $14, %got_disp(g_nop_targets)($15)\n"             \
    "    ld $24, 8*" index "($14)\n"                          \
    "    beqz $24, 2f\n    nop\n"                             \
    "    move $25, $24\n    jr $25\n    nop\n"                \
    "2:  daddiu $sp, $sp, -16\n    sd $31, 0($sp)\n"          \
    "    bal nop_first_call\n    nop\n"                       \
    "    ld $31, 0($sp)\n    b 1b\n    daddiu $sp, $sp, 16\n" \
    ".set pop\n"                                              \
    ".size " name ", .-" name "\n"

#endif
