/* SPDX-License-Identifier: MIT */
/*
 * arch_x86_64: everything the collector knows about x86-64. Register numbers are DWARF's.
 */
#ifndef MTRACE_COLLECTOR_ARCH_X86_64_H
#define MTRACE_COLLECTOR_ARCH_X86_64_H

#include <cpuid.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* A word that holds the address of a function: of the calls to it, of those who ask for it, and in data. */
    ARCH_RELOCATION_CALL = R_X86_64_JUMP_SLOT,
    ARCH_RELOCATION_DATA = R_X86_64_GLOB_DAT,
    ARCH_RELOCATION_WORD = R_X86_64_64,
};

/* ---- stacks ------------------------------------------------------------------------------------
 */

enum {
    ARCH_FP = 6,
    ARCH_SP = 7,
    ARCH_RA = 16, /* return address column; as a register the program counter */
    ARCH_N_REGISTERS = 17,
    ARCH_RA_AT_CFA = -8,       /* where `call` leaves the return address */
    ARCH_RA_BEHIND_FP = 0,     /* nothing: it is not the function that saves it */
    ARCH_RECORD_AT_FP = 0,     /* where the frame pointer leads: those two words */
    ARCH_CODE_SHIFT = 0,       /* low bits of an instruction's address that are always 0 */
    ARCH_CFI_OP_SIGNS_RA = -1, /* there is no such instruction of CFI */
    ARCH_RED_ZONE_BYTES = 128, /* below the stack pointer, still a function's own */
    /* the kernel's sigcontext keeps rip right behind rsp */
    ARCH_SIGNAL_PC_BEHIND_SP = 8,
};

#define ARCH_HAS_FIXED_RA      1 /* ARCH_RA_AT_CFA is true of every function */
#define ARCH_RECORD_ENDS_FRAME 1 /* behind the two words is the caller's frame */

/* The register that a call leaves its return address in: none. */
#define ARCH_LINK_REGISTERS ((uint64_t)0)
/* Registers that a callee gives back unchanged unless its CFI says where they are: rbx, rbp,
 * r12-r15. */
#define ARCH_CALLEE_SAVED (ARCH_BIT(3) | ARCH_BIT(6) | (uint64_t)0xf << 12)

/* The callee-saved registers, stack pointer and pc of the function this is inlined in, by number. */
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

/* What is in a word that a return address was saved to. */
static inline uintptr_t arch_code_address(uintptr_t word)
{
    return word;
}

/* The two words of the frame that this is written in, which has a frame pointer; and its CFA. */
#define ARCH_RECORD() ((uintptr_t)__builtin_frame_address(0))
#define ARCH_CFA()    (ARCH_RECORD() + ARCH_FRAME_BYTES)

#define ARCH_HAS_SIGNAL_CFI 1 /* where a handler returns to, which is in libc */

/* Code that a handler returns to, and that no CFI leads across. */
static inline bool arch_is_signal_return(const uint8_t code[8])
{
    (void)code;
    return false;
}

/* Where the kernel has put a register of what it interrupted: CFI says it. */
static inline int arch_signal_offset(unsigned number)
{
    (void)number;
    return -1;
}

/* ---- the counter -------------------------------------------------------------------------------
 */

/* A bit of edx of an extended leaf. */
static inline bool arch_has_feature(unsigned leaf, unsigned bit)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;

    return __get_cpuid(leaf, &a, &b, &c, &d) && d >> bit & 1;
}

/* The kernel's names for it; and for a clock that is made of it where it is invariant. */
#define ARCH_COUNTER_SOURCES "tsc\n", "hyperv_clocksource_tsc_page\n"
#define ARCH_STABLE_SOURCE   "kvm-clock\n"
#define ARCH_VDSO_CLOCK      "__vdso_clock_gettime"

/* Both ways to read it are there. */
static inline bool arch_has_counter(void)
{
    return arch_has_feature(0x80000001u, 27); /* rdtscp */
}

static inline bool arch_is_counter_invariant(void)
{
    return arch_has_feature(0x80000007u, 8);
}

static inline uint64_t arch_counter(void)
{
    return __builtin_ia32_rdtsc();
}

/* Read when all instructions before it are done. */
static inline uint64_t arch_counter_after(void)
{
    unsigned processor;

    return __builtin_ia32_rdtscp(&processor);
}

#define ARCH_MOST_PAGE_BYTES 4096

/* ---- code that is written ----------------------------------------------------------------------
 */

enum {
    ARCH_JUMP_BYTES = 5,
    ARCH_STUB_BYTES = 24,
    ARCH_NEAR_BYTES = 1 << 30, /* code this close to code reaches it by a jump */
};

/* target - end as the 4 bytes of a displacement; false: it is too far. */
static inline bool arch_write_displacement(uint8_t *at, uintptr_t end, uintptr_t target)
{
    int64_t distance = (int64_t)(target - end);
    int32_t displacement = (int32_t)distance;

    __builtin_memcpy(at, &displacement, sizeof(displacement));
    return displacement == distance;
}

/* A jump that will stand at `from`. */
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

/* ---- system calls and bytes --------------------------------------------------------------------
 */

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

/* Not loops: those would become calls of the functions that are made of them. */
static inline void arch_copy(void *to, const void *from, size_t size_bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size_bytes) : : "memory");
}

static inline void arch_fill(void *to, int value, size_t size_bytes)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size_bytes) : "a"(value) : "memory");
}

#endif
