/* SPDX-License-Identifier: MIT */
/*
 * arch_call_on_stack. In assembly, because the compiler must not touch the stack between the two
 * stack pointers. Its CFI lets gdb, and C++ exceptions of a signal handler, pass through.
 */
#include "collector/arch/arch_riscv64.h"

__asm__(".pushsection .text\n"
        ".globl arch_call_on_stack\n"
        ".hidden arch_call_on_stack\n"
        ".type arch_call_on_stack, @function\n"
        ".balign 4\n"
        "arch_call_on_stack:\n"
        ".cfi_startproc\n"
        "addi sp, sp, -16\n"
        ".cfi_def_cfa_offset 16\n"
        "sd ra, 8(sp)\n"
        "sd s0, 0(sp)\n"
        ".cfi_offset ra, -8\n"
        ".cfi_offset s0, -16\n"
        "addi s0, sp, 16\n"
        ".cfi_def_cfa s0, 0\n"
        "mv t0, a0\n"
        "mv a0, a1\n"
        "mv sp, a2\n"
        "jalr t0\n"
        "addi sp, s0, -16\n"
        ".cfi_def_cfa sp, 16\n"
        "ld ra, 8(sp)\n"
        ".cfi_restore ra\n"
        "ld s0, 0(sp)\n"
        ".cfi_restore s0\n"
        "addi sp, sp, 16\n"
        ".cfi_def_cfa_offset 0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size arch_call_on_stack, . - arch_call_on_stack\n"
        ".popsection\n");

/*
 * The processor has atomic operations for words of 4 and 8 bytes only. For a byte gcc calls
 * libatomic, which the collector must not need. So a byte is changed inside its word.
 */
bool arch_compare_exchange_byte(volatile void *at, void *expected, uint8_t wanted, int success,
                                int failure) __asm__("__atomic_compare_exchange_1")
    __attribute__((visibility("hidden")));
uint8_t arch_exchange_byte(volatile void *at, uint8_t wanted,
                           int order) __asm__("__atomic_exchange_1")
    __attribute__((visibility("hidden")));

bool arch_compare_exchange_byte(volatile void *at, void *expected, uint8_t wanted, int success,
                                int failure)
{
    uint32_t *word = (uint32_t *)((uintptr_t)at & ~(uintptr_t)3);
    const unsigned shift = 8 * (unsigned)((uintptr_t)at & 3);
    uint8_t *was = expected;
    uint32_t now = __atomic_load_n(word, __ATOMIC_SEQ_CST);

    (void)success;
    (void)failure;
    while ((uint8_t)(now >> shift) == *was) {
        const uint32_t next = (now & ~((uint32_t)0xff << shift)) | (uint32_t)wanted << shift;
        if (__atomic_compare_exchange_n(word, &now, next, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return true;
    }
    *was = (uint8_t)(now >> shift);
    return false;
}

uint8_t arch_exchange_byte(volatile void *at, uint8_t wanted, int order)
{
    uint8_t was = __atomic_load_n((volatile uint8_t *)at, __ATOMIC_RELAXED);

    while (!arch_compare_exchange_byte(at, &was, wanted, order, order))
        continue;
    return was;
}
