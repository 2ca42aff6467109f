/* SPDX-License-Identifier: MIT */
/*
 * unwind_cfi: makes rows and rules of code addresses from the CFI of their modules.
 *
 * Any thread, each with its own scratch. Async-signal-safe. Without a row the rule is
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
    bool is_unmapped; /* CFI was not copied: module being unmapped, or refused by the kernel */
};

/*
 * Puts the row of a code address into scratch->row, and returns the module's id (0: none) in
 * *ret_module. is_trusted: the address is certainly on a stack, so its module cannot be unmapped
 * during the call; else its CFI is read through copies.
 */
enum cfi_result unwind_cfi_find_row(uintptr_t address, uint32_t epoch, bool is_trusted,
                                    struct unwind_cfi_scratch *scratch, uint32_t *ret_module);

/* The return address of a thread's first function, for which some C libraries have no CFI: 0 for
 * pthread_create, 1 for thrd_create. */
void unwind_cfi_set_bottom(unsigned which, uintptr_t pc);

/* Makes the rule of an address that is not in the cache, and caches it unless its CFI was gone. */
struct unwind_rule unwind_cfi_make_rule_slow(uintptr_t address, uint32_t epoch, bool is_trusted,
                                             struct unwind_cfi_scratch *scratch);

#endif
