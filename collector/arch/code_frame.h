/* SPDX-License-Identifier: MIT */
/*
 * code_frame: what instructions say of the frame they run in, where no CFI does (MIPS, whose compilers write none for C).
 */
#ifndef MTRACE_COLLECTOR_CODE_FRAME_H
#define MTRACE_COLLECTOR_CODE_FRAME_H

#include <stddef.h>
#include <stdint.h>

struct arch_code_frame {
    uint32_t base;  /* the CFA is this register + cfa_offset */
    uint32_t saved; /* bit r: register r is saved, at the CFA + offset[r] */
    int32_t cfa_offset;
    int32_t offset[32];
};

enum arch_code_answer {
    ARCH_CODE_FOUND,
    ARCH_CODE_GO_ON, /* what makes the frame is further back */
    ARCH_CODE_NONE,  /* the function begins here, and makes none that we know of */
};

enum {
    ARCH_MOST_FRAME_CODE = 128, /* instructions that make a frame, at most */
};

#endif
