/* SPDX-License-Identifier: MIT */
/*
 * unwind_code: rows of code without CFI, from the instructions before a call (ARCH_HAS_CODE_FRAMES).
 *
 * Threads: any, with a scratch each. Signals: safe. Failure: no row.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_CODE_H
#define MTRACE_COLLECTOR_UNWIND_CODE_H

#include "collector/unwind/cfi_row.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* words of instructions looked at at once */
    UNWIND_CODE_WINDOW =
        ARCH_HAS_CODE_FRAMES ? (2048 + ARCH_CODE_BEFORE_BYTES) / sizeof(uint32_t) : 1,
};

struct unwind_code_scratch {
    uint32_t window[UNWIND_CODE_WINDOW];
};

/* Copies bytes of the program that may not be there. A kernel that copies nothing is asked for each page. */
bool unwind_code_copy(void *ret_bytes, uintptr_t address, size_t n_bytes);

/* The row of a return address minus one, of a function that begins not before `low`. */
bool unwind_code_find_row(uintptr_t address, uintptr_t low, struct unwind_code_scratch *scratch,
                          struct cfi_row *ret_row);

/* A call is before this return address. */
bool unwind_code_is_behind_call(uintptr_t pc);

#endif
