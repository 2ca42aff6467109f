/* SPDX-License-Identifier: MIT */
/*
 * cfi_expression: evaluates a DWARF expression of a CFI row.
 *
 * Invariants
 *   EX-1 Memory is read only through `load`; a refused load ends the evaluation.
 *   EX-2 At most CFI_EXPRESSION_STEPS operations run, whatever the bytes say.
 * Threads: any. Signals: safe. Failure: false; also for operations CFI cannot need.
 */
#ifndef MTRACE_COLLECTOR_CFI_EXPRESSION_H
#define MTRACE_COLLECTOR_CFI_EXPRESSION_H

#include "collector/arch/arch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CFI_EXPRESSION_STEPS = 512,
    CFI_EXPRESSION_DEPTH = 24
};

/* The environment of an evaluation. */
struct cfi_context {
    const struct arch_registers *registers;
    /* Loads the 8 bytes at an address of the stack; false if they cannot be read. */
    bool (*load)(void *loader, uintptr_t address, uintptr_t *ret_word);
    void *loader;
};

/* Runs the expression on a stack that holds *initial (NULL: empty); its result is the top. */
bool cfi_expression_evaluate(const struct cfi_context *context, const uint8_t *expression,
                             size_t n_bytes, const uintptr_t *initial, uintptr_t *ret_value);

#endif
