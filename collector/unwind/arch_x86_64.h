/* SPDX-License-Identifier: MIT */
/*
 * arch_x86_64: everything the unwinder knows about x86-64 and nothing else does.
 *
 * Another architecture provides a header with the same names. Register numbers are DWARF's.
 */
#ifndef MTRACE_COLLECTOR_ARCH_X86_64_H
#define MTRACE_COLLECTOR_ARCH_X86_64_H

#include <stdint.h>

enum {
    ARCH_FP = 6,
    ARCH_SP = 7,
    ARCH_RA = 16, /* return address column; as a register the program counter */
    ARCH_N_REGISTERS = 17,
    ARCH_RA_AT_CFA = -8,       /* where `call` leaves the return address */
    ARCH_RED_ZONE_BYTES = 128, /* below the stack pointer, still a function's own */
    /* the kernel's sigcontext keeps rip right behind rsp */
    ARCH_SIGNAL_PC_BEHIND_SP = 8,
};

/* Registers that a callee gives back unchanged unless its CFI says where they are: rbx, rbp,
 * r12-r15. */
#define ARCH_CALLEE_SAVED ((1u << 3) | (1u << 6) | (0xfu << 12))

struct arch_registers {
    uintptr_t value[ARCH_N_REGISTERS];
    uint32_t known; /* bit r: value[r] means something */
};

/* The callee-saved registers, stack pointer and pc of the function this is inlined in. */
static inline __attribute__((always_inline)) void arch_capture(struct arch_registers *registers)
{
    uintptr_t *value = registers->value;

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
                     : "a"(value)
                     : "rcx", "memory");
    registers->known = ARCH_CALLEE_SAVED | (1u << ARCH_SP) | (1u << ARCH_RA);
}

/* Calls function(argument) with the stack pointer at stack_top (16-byte aligned), then returns. */
void arch_call_on_stack(void (*function)(void *), void *argument, void *stack_top)
    __attribute__((visibility("hidden")));

#endif
