/* SPDX-License-Identifier: MIT */
/*
 * exidx: finds a frame's caller on ARM, from .ARM.exidx and .ARM.extab of a loaded module.
 *
 * Each entry of the sorted index begins a range of code: a function, or several that are unwound in
 * the same way. The instructions are up to some hundred bytes, in the entry or in the table. They
 * move a stack pointer, `vsp`, outwards over what the function has saved. The final vsp is the CFA.
 * See "Exception Handling ABI for the Arm Architecture", IHI 0038, sections 6 to 10.
 * The instructions hold where the function calls. An even address was interrupted and is no return
 * address minus one: exidx_find_row marks its row as a guess unless there is a system call.
 *
 * Invariants
 *   EI-1 Only bytes in [low, high) of the section are read, through its `copy` if it has one.
 *   EI-2 Any bytes give one of the results in bounded time.
 *
 * Any thread. Async-signal-safe. Damaged tables give CFI_MALFORMED.
 */
#ifndef MTRACE_COLLECTOR_EXIDX_H
#define MTRACE_COLLECTOR_EXIDX_H

#include "collector/unwind/cfi.h"

#include <stdint.h>

/* The row of a code address; section->hdr is the index of section->n_entries. CFI_NO_ENTRY also if
 * the index says that a function cannot be unwound; compilers do this for all functions without
 * tables. */
enum cfi_result exidx_find_row(const struct cfi_section *section, uintptr_t address,
                               struct cfi_row *ret_row);

#endif
