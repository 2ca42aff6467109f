/* SPDX-License-Identifier: MIT */
/*
 * arch: what differs between processors.
 *
 * This is: registers and frames for the unwinder, switching the stack, the counter, system calls,
 * loops over bytes. A port provides one header with the names of arch_x86_64.h and one source file
 * (docs/porting.md).
 */
#ifndef MTRACE_COLLECTOR_ARCH_H
#define MTRACE_COLLECTOR_ARCH_H

#include "collector/arch/code_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#    include "collector/arch/arch_x86_64.h"
#elif defined(__i386__)
#    include "collector/arch/arch_i386.h"
#elif defined(__aarch64__)
#    include "collector/arch/arch_aarch64.h"
#elif defined(__arm__)
#    include "collector/arch/arch_arm.h"
#elif defined(__riscv) && __riscv_xlen == 64
#    include "collector/arch/arch_riscv64.h"
#elif defined(__mips64) && defined(__MIPSEL__)
#    include "collector/arch/arch_mips64el.h"
#else
#    error "this architecture has no header in collector/arch"
#endif

#ifndef ARCH_HAS_RECORDS
#    define ARCH_HAS_RECORDS \
        1 /* a frame pointer leads to where the caller's is, and the return address */
#endif

/* Frames of code without CFI can be found from instructions (MIPS and ARM, whose compilers write no
 * CFI for C). */
#ifndef ARCH_HAS_CODE_FRAMES
#    define ARCH_HAS_CODE_FRAMES 0
#endif

#ifndef ARCH_HAS_FILE_STATUS
#    define ARCH_HAS_FILE_STATUS 0
#endif

#ifndef ARCH_MAX_PAGE_BYTES
#    define ARCH_MAX_PAGE_BYTES 65536 /* the largest that a kernel may have */
#endif

#ifndef ARCH_HAS_EXIDX
#    define ARCH_HAS_EXIDX 0 /* stacks are unwound by .ARM.exidx, not by CFI */

enum {
    ARCH_FAR_RA_BITS = 0, /* the return address directly follows the saved frame pointer */
};
#endif

#if !ARCH_HAS_EXIDX && !ARCH_HAS_CODE_FRAMES
enum {
    ARCH_ENTRY_BYTES = 0, /* of the entry code below its first stack pointer when it calls libc */
};
#endif

enum {
    /* Where a function with a frame pointer saves it: the caller's, then the return address. */
    ARCH_FRAME_BYTES = 2 * sizeof(uintptr_t),
    ARCH_PAGE_BYTES = 4096, /* the smallest there is; larger ones are several of them */
};

#ifndef ARCH_HAS_OWN_NUMBERS
/* Flags of mmap and error numbers as in the log: those of most processors. */
static inline unsigned arch_map_flags(int flags)
{
    return (unsigned)flags;
}

static inline unsigned arch_errno(int error)
{
    return (unsigned)error;
}
#endif

#ifndef ARCH_HAS_BLOCK_COPY
/* Byte by byte, for processors without a better loop. Written so that the compiler does not replace
 * the loops by calls of memcpy or memset, which use them. */
static inline void arch_copy(void *to, const void *from, size_t size_bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;

    for (size_t i = 0; i < size_bytes; i++) {
        out[i] = in[i];
        __asm__ volatile("" : : : "memory");
    }
}

static inline void arch_fill(void *to, int value, size_t size_bytes)
{
    uint8_t *out = to;

    for (size_t i = 0; i < size_bytes; i++) {
        out[i] = (uint8_t)value;
        __asm__ volatile("" : : : "memory");
    }
}
#endif

#ifndef ARCH_HAS_CODE_PATCHES
/* Code is never patched (collector/os/code_patch.h): mtrace-record makes patch plans for x86-64
 * only. */
enum {
    ARCH_JUMP_BYTES = 4,
    ARCH_STUB_BYTES = 24,
    ARCH_NEAR_BYTES = 1 << 27,
};

static inline bool arch_write_displacement(uint8_t *at, uintptr_t end, uintptr_t target)
{
    (void)at;
    (void)end;
    (void)target;
    return false;
}

static inline bool arch_write_jump(uint8_t bytes[ARCH_JUMP_BYTES], uintptr_t from, uintptr_t target)
{
    (void)bytes;
    (void)from;
    (void)target;
    return false;
}

static inline void arch_write_stub(uint8_t bytes[ARCH_STUB_BYTES], uintptr_t sixth,
                                   uintptr_t target)
{
    (void)sixth;
    (void)target;
    __builtin_memset(bytes, 0, ARCH_STUB_BYTES);
}
#endif

#if ARCH_HAS_CODE_FRAMES
/*
 * Finds the last instructions that make a frame, before a return address. The search starts after
 * the first n_before bytes, which only help to recognize instruction boundaries. Call it for
 * overlapping parts of the code, from the one that ends with the call backwards, with the same
 * `frame`.
 */
enum arch_code_answer arch_read_frame(const uint32_t *code, size_t n_bytes, size_t n_before,
                                      struct arch_code_frame *frame)
    __attribute__((visibility("hidden")));

/* FOUND: rest->pc belongs to the function, and whether it has a frame pointer is known. NONE: the
 * function ends before. */
enum arch_code_answer arch_read_rest(const uint32_t *code, size_t n_bytes,
                                     struct arch_code_rest *rest)
    __attribute__((visibility("hidden")));
#else
#    define ARCH_RETURN_COLUMN ARCH_RA

enum {
    ARCH_CALL_BYTES = 4,
    ARCH_CODE_BEFORE_BYTES = 0,
};

static inline enum arch_code_answer arch_read_frame(const uint32_t *code, size_t n_bytes,
                                                    size_t n_before, struct arch_code_frame *frame)
{
    (void)code;
    (void)n_bytes;
    (void)n_before;
    (void)frame;
    return ARCH_CODE_NONE;
}

static inline enum arch_code_answer arch_read_rest(const uint32_t *code, size_t n_bytes,
                                                   struct arch_code_rest *rest)
{
    (void)code;
    (void)n_bytes;
    (void)rest;
    return ARCH_CODE_NONE;
}

static inline bool arch_is_behind_call(const uint8_t *before, uintptr_t pc)
{
    (void)before;
    (void)pc;
    return false;
}
#endif

#define ARCH_BIT(number) ((uint64_t)1 << (number))

/* Where the wrapper that uses this was called; it has a frame pointer. */
#ifndef ARCH_RETURN_ADDRESS
#    define ARCH_RETURN_ADDRESS() ((uintptr_t)__builtin_return_address(0))
#endif

/* The caller's frame pointer at the entry of this wrapper; ARCH_RECORD has it. */
#ifndef ARCH_CALLER_FP
#    define ARCH_CALLER_FP() (*(const uintptr_t *)(ARCH_RECORD()))
#endif

struct arch_registers {
    uintptr_t value[ARCH_N_REGISTERS];
    uint64_t known; /* bit r: value[r] is valid */
};

/* The callee-saved registers, stack pointer and pc of the function this is inlined in. */
static inline __attribute__((always_inline)) void arch_capture(struct arch_registers *registers)
{
    arch_capture_values(registers->value);
    registers->known =
        (ARCH_CALLEE_SAVED & ~ARCH_LINK_REGISTERS) | ARCH_BIT(ARCH_SP) | ARCH_BIT(ARCH_RA);
}

/* Calls function(argument) with the stack pointer at stack_top (16-byte aligned), then returns. */
void arch_call_on_stack(void (*function)(void *), void *argument, void *stack_top)
    __attribute__((visibility("hidden")));

#endif
