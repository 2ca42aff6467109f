/* SPDX-License-Identifier: MIT */
/*
 * exidx: how to find a frame's caller on ARM, from .ARM.exidx and .ARM.extab of a loaded module.
 *
 * Model:   each entry of the sorted index begins a range of code: a function, or several with the same way to unwind.
 *          What is to be done are up to some hundred bytes, in the entry or in the table; they move a stack pointer,
 *          `vsp`, outwards over what the function has put on the stack. Where vsp ends is the CFA. "Exception Handling
 *          ABI for the Arm Architecture", IHI 0038, 6 to 10.
 *          They hold where the function calls. exidx_find_row says of an even address, which was interrupted and is no
 *          return address minus one, that its row is a guess unless there is a system call.
 * Invariants
 *   EI-1 Only bytes in [low, high) of the section are read, through its `copy` if it has one.
 *   EI-2 Any bytes give one of the results in bounded time.
 * Threads: any. Signals: safe. Failure: CFI_MALFORMED.
 */
#ifndef MTRACE_COLLECTOR_EXIDX_H
#define MTRACE_COLLECTOR_EXIDX_H

#include "collector/unwind/cfi.h"

#include <stdint.h>

/* The row of a code address; section->hdr is the index, of section->n_entries. CFI_NO_ENTRY also where the index says
 * that a function cannot be unwound, as compilers have it say of all that were made without tables. */
enum cfi_result exidx_find_row(const struct cfi_section *section, uintptr_t address,
                               struct cfi_row *ret_row);

#endif
