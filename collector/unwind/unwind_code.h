/* SPDX-License-Identifier: MIT */
/*
 * unwind_code: rows of code without CFI, from the instructions before a call
 * (ARCH_HAS_CODE_FRAMES).
 *
 * Any thread, each with its own scratch. Async-signal-safe. On failure there is no row.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_CODE_H
#define MTRACE_COLLECTOR_UNWIND_CODE_H

#include "collector/unwind/cfi_program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* words of instructions examined together */
    UNWIND_CODE_WINDOW =
        ARCH_HAS_CODE_FRAMES ? (2048 + ARCH_CODE_BEFORE_BYTES) / sizeof(uint32_t) : 1,
};

struct unwind_code_scratch {
    uint32_t window[UNWIND_CODE_WINDOW];
};

/* Copies bytes of the program that may be unmapped. If the kernel refuses to copy, each page is
 * probed. */
bool unwind_code_copy(void *ret_bytes, uintptr_t address, size_t n_bytes);

/* The row of a return address minus one; its function does not begin before `low`. */
bool unwind_code_find_row(uintptr_t address, uintptr_t low, struct unwind_code_scratch *scratch,
                          struct cfi_row *ret_row);

/* There is a call right before this return address. */
bool unwind_code_is_behind_call(uintptr_t pc);

#endif
