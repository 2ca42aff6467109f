/* SPDX-License-Identifier: MIT */
/*
 * code_frame: what instructions say of the frame they run in, where no CFI does (MIPS and ARM, whose compilers write none for C).
 */
#ifndef MTRACE_COLLECTOR_CODE_FRAME_H
#define MTRACE_COLLECTOR_CODE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arch_code_frame {
    uint32_t saved; /* bit r: register r is saved, at the CFA + offset[r] */
    uint32_t fp;    /* a register that was made from the stack pointer; 0: none */
    int32_t cfa_offset,
        fp_offset; /* the CFA is the stack pointer + cfa_offset, and was fp + fp_offset */
    int32_t offset[32];
    size_t begin, end; /* in the code, of what makes it */
    uint32_t set;      /* of instructions: ARM has two */
    bool needs_fp;     /* the stack pointer has gone down since, nobody knows how far */
};

/* The code of a function, read from where its frame is made. */
struct arch_code_rest {
    uintptr_t at;       /* of the next instruction */
    uintptr_t made;     /* behind those that make the frame */
    uintptr_t pc;       /* the return address that is asked about */
    uintptr_t reach;    /* where the furthest branch so far leads */
    uint32_t fp, set;   /* of arch_code_frame; fp 0: nobody asks for it */
    uint32_t n_perhaps; /* instructions that are done perhaps */
    bool has_fp;        /* the function takes its stack pointer from fp, before it first returns */
};

enum arch_code_answer {
    ARCH_CODE_FOUND,
    ARCH_CODE_GO_ON, /* what makes the frame is further back */
    ARCH_CODE_NONE,  /* the function begins here, and makes none that we know of */
};

enum {
    ARCH_MOST_FRAME_CODE = 512, /* bytes of instructions that make a frame, at most */
};

#endif
