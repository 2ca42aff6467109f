/* SPDX-License-Identifier: MIT */
/*
 * code_frame: describes a frame from the instructions of its function, for code without CFI.
 *
 * MIPS and ARM need this: their compilers write no CFI for C.
 */
#ifndef MTRACE_COLLECTOR_CODE_FRAME_H
#define MTRACE_COLLECTOR_CODE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arch_code_frame {
    uint32_t saved; /* bit r: register r is saved, at the CFA + offset[r] */
    uint32_t fp;    /* a register computed from the stack pointer; 0: none */
    int32_t cfa_offset,
        fp_offset; /* the CFA is the stack pointer + cfa_offset, and was fp + fp_offset */
    int32_t offset[32];
    size_t begin, end; /* range in the code of the instructions that make it */
    uint32_t set;      /* instruction set: ARM has two */
    bool needs_fp;     /* the stack pointer has since moved by an unknown amount */
};

/* The rest of a function's code, after the instructions that make its frame. */
struct arch_code_rest {
    uintptr_t at;       /* of the next instruction */
    uintptr_t made;     /* after the instructions that make the frame */
    uintptr_t pc;       /* the return address in question */
    uintptr_t reach;    /* target of the furthest branch so far */
    uint32_t fp, set;   /* of arch_code_frame; fp 0: not needed */
    uint32_t n_perhaps; /* number of instructions that are conditional */
    bool has_fp; /* the function restores its stack pointer from fp before it first returns */
};

enum arch_code_answer {
    ARCH_CODE_FOUND,
    ARCH_CODE_GO_ON, /* the frame is made further back */
    ARCH_CODE_NONE,  /* the function begins here and makes no frame that we recognize */
};

enum {
    ARCH_MAX_FRAME_CODE = 512, /* most bytes of instructions that make a frame */
};

#endif
