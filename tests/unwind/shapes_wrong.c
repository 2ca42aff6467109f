/* SPDX-License-Identifier: MIT */
/* Wrong CFI. There is no right stack to find; the unwinder must end each walk and survive. */
#include "tests/unwind/probe.h"

#include <stdint.h>

typedef void call_function(void (*inner)(unsigned), unsigned depth);

/* A function that calls inner(depth) with rbx and rbp as given, and CFI of its own choice. */
#define LIAR(name, rbx, rbp, cfi)                                                            \
    call_function name;                                                                      \
    __asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name \
            ":\n.cfi_startproc\n"                                                            \
            "pushq %rbx\npushq %rbp\nsubq $8, %rsp\n"                                        \
            "movq %rdi, %rax\nmovl %esi, %edi\n"                                             \
            "movq " rbx ", %rbx\nmovq " rbp ", %rbp\n" cfi "\n"                              \
            "call *%rax\n"                                                                   \
            "addq $8, %rsp\npopq %rbp\npopq %rbx\nret\n.cfi_endproc\n"                       \
            ".size " #name ", . - " #name "\n");

LIAR(cfa_far_above, "$0", "$0", ".cfi_def_cfa %rsp, 0x7ffffff0")
LIAR(cfa_below, "$0", "$0", ".cfi_def_cfa %rsp, -64")
LIAR(cfa_stands_still, "$0", "$0", ".cfi_def_cfa %rsp, 0")
LIAR(cfa_in_garbage_fp, "$0", "$0x123456789", ".cfi_def_cfa %rbp, 16")
LIAR(cfa_in_noncanonical_fp, "$0", "$0xdead000000000000", ".cfi_def_cfa %rbp, 16")
LIAR(cfa_at_end_of_memory, "$0", "$-9", ".cfi_def_cfa %rbp, 8")
LIAR(cfa_in_garbage_register, "$0x1000", "$0", ".cfi_def_cfa %rbx, 16")
LIAR(cfa_off_by_eight, "$0", "$0", ".cfi_def_cfa %rsp, 24")
LIAR(fp_saved_nowhere, "$0", "$0", ".cfi_def_cfa %rsp, 32\n.cfi_offset %rbp, -0x6000")
/* CFA = *(rbp + 8), of garbage */
LIAR(cfa_behind_garbage, "$0", "$0x1008", ".cfi_escape 0x0f, 3, 0x76, 8, 0x06")
/* CFA = *(*(rsp)), an endless loop, a division by zero, an empty expression */
LIAR(cfa_behind_two, "$0", "$0", ".cfi_escape 0x0f, 4, 0x77, 0, 0x06, 0x06")
LIAR(cfa_never_computed, "$0", "$0", ".cfi_escape 0x0f, 4, 0x31, 0x2f, 0xfc, 0xff")
LIAR(cfa_divided, "$0", "$0", ".cfi_escape 0x0f, 3, 0x31, 0x30, 0x1b")
LIAR(cfa_empty, "$0", "$0", ".cfi_escape 0x0f, 0")
LIAR(signal_frame, "$0", "$0", ".cfi_signal_frame\n.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06")

static call_function *const g_liars[] = {
    cfa_far_above,
    cfa_below,
    cfa_stands_still,
    cfa_in_garbage_fp,
    cfa_in_noncanonical_fp,
    cfa_at_end_of_memory,
    cfa_in_garbage_register,
    cfa_off_by_eight,
    fp_saved_nowhere,
    cfa_behind_garbage,
    cfa_behind_two,
    cfa_never_computed,
    cfa_divided,
    cfa_empty,
    signal_frame,
};

enum {
    N_LIARS = sizeof(g_liars) / sizeof(g_liars[0])
};

static probe_function *g_probe;
static uint32_t g_seed;

__attribute__((noinline)) static void descend(unsigned depth)
{
    g_probe();
    if (depth > 0) {
        g_seed = g_seed * 1664525u + 1013904223u;
        g_liars[(g_seed >> 8) % N_LIARS](descend, depth - 1);
        g_probe();
    }
}

void shapes_run(probe_function *probe)
{
    g_probe = probe;
    for (unsigned i = 0; i < 4000; i++) {
        g_seed = i;
        descend(1 + i % 5);
    }
}
