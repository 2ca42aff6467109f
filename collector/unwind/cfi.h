/* SPDX-License-Identifier: MIT */
/*
 * cfi: finds a frame's caller from .eh_frame_hdr and .eh_frame of a loaded module.
 *
 * cfi_find_row looks up a code address and runs its CFI program up to that address. The result, a
 * row, tells where the CFA and each register are. Nothing is kept between calls.
 *
 * Invariants
 *   CF-1 Only bytes in [low, high) of the section are read; each read is checked.
 *   CF-2 With `copy` set every byte is read through it, never by a direct load.
 *   CF-3 Any bytes give one of the results below in bounded time (linear in the section).
 *   CF-4 Expressions of a row point into the section or into `scratch`; they are valid until either
 *        is gone.
 *
 * Any thread, each with its own scratch. Async-signal-safe. Damaged CFI gives CFI_MALFORMED.
 */
#ifndef MTRACE_COLLECTOR_CFI_H
#define MTRACE_COLLECTOR_CFI_H

#include "collector/unwind/cfi_program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CFI_COPY_BYTES = 4096, /* largest CIE or FDE that can be read through `copy` */
};

/* The unwind information of one module. */
struct cfi_section {
    uintptr_t hdr;       /* address of .eh_frame_hdr */
    size_t n_entries;    /* of .ARM.exidx, where hdr is the address of that (exidx.h) */
    uintptr_t low, high; /* readable bytes around it */
    /* Copies bytes that may be unmapped at any time; false if they are gone. NULL: use direct
     * loads. */
    bool (*copy)(void *ret_bytes, uintptr_t address, size_t n_bytes);
    bool *ret_is_unmapped; /* set when `copy` failed: the result says nothing about the module */
};

struct cfi_scratch {
    struct cfi_program_scratch program;
    uint8_t cie_copy[CFI_COPY_BYTES];
    uint8_t fde_copy[CFI_COPY_BYTES];
};

enum cfi_result {
    CFI_FOUND,
    CFI_NO_ENTRY,  /* the address has no unwind information */
    CFI_MALFORMED, /* damaged, or in a form no toolchain of this platform writes */
};

/* The row of a code address. For a return address ask for the byte before it. */
enum cfi_result cfi_find_row(const struct cfi_section *section, uintptr_t address,
                             struct cfi_scratch *scratch, struct cfi_row *ret_row);

#endif
