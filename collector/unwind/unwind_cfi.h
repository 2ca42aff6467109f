/* SPDX-License-Identifier: MIT */
/*
 * unwind_cfi: rows and rules of code addresses, from the CFI of the module that they are in.
 *
 * Threads: any, with a scratch each. Signals: safe. Failure: no row; the rule is then
 * UNWIND_RULE_GUESS, as for code without CFI.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_CFI_H
#define MTRACE_COLLECTOR_UNWIND_CFI_H

#include "collector/unwind/cfi.h"
#include "collector/unwind/unwind_code.h"
#include "collector/unwind/unwind_rule.h"

#include <stdbool.h>
#include <stdint.h>

/* Working memory for making rules and rows; too large for the program's stack. */
struct unwind_cfi_scratch {
    struct cfi_scratch cfi;
    struct unwind_code_scratch code;
    struct cfi_row row;
    uint32_t section_module; /* whose section it is, 0: none yet */
    uint32_t section_epoch;
    struct cfi_section section;
    bool
        is_gone; /* CFI could not be copied: its module was being unmapped, or the kernel refused */
};

/*
 * The row of a code address into scratch->row, and the module's id (0: none). is_trusted: the
 * address is certainly on a stack, so its module cannot be unmapped meanwhile; else its CFI is read
 * through copies.
 */
enum cfi_result unwind_cfi_find_row(uintptr_t address, uint32_t epoch, bool is_trusted,
                                    struct unwind_cfi_scratch *scratch, uint32_t *ret_module);

/* Where a thread's first function returns to, which some C libraries have no table for: 0 for pthread_create's, 1 for thrd_create's. */
void unwind_cfi_set_bottom(unsigned which, uintptr_t pc);

/* Makes the rule of an address that is not in the cache, and caches it unless its CFI was gone. */
struct unwind_rule unwind_cfi_make_rule_slow(uintptr_t address, uint32_t epoch, bool is_trusted,
                                             struct unwind_cfi_scratch *scratch);

#endif
