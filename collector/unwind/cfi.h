/* SPDX-License-Identifier: MIT */
/*
 * cfi: how to find a frame's caller, from .eh_frame_hdr and .eh_frame of a loaded module.
 *
 * Model:   cfi_find_row looks one code address up and runs its CFI program up to that address. The
 *          result, a row, says for the CFA and each register where its value is. Nothing is kept
 *          between calls.
 * Invariants
 *   CF-1 Only bytes in [low, high) of the section are read; each read is checked against it.
 *   CF-2 With `copy` set every byte is read through it, never by a load of our own.
 *   CF-3 Any bytes give one of the results below in bounded time (linear in the section).
 *   CF-4 Expressions of a row point into the section or into `scratch`; they are good until either
 *        goes away.
 * Threads: any, with a scratch each. Signals: safe. Failure: CFI_MALFORMED.
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

/* Where the unwind information of one module is. */
struct cfi_section {
    uintptr_t hdr;       /* address of .eh_frame_hdr */
    size_t n_entries;    /* of .ARM.exidx, where hdr is the address of that (exidx.h) */
    uintptr_t low, high; /* readable bytes around it */
    /* Copies bytes that may be unmapped meanwhile; false when they are gone. NULL: load them. */
    bool (*copy)(void *ret_bytes, uintptr_t address, size_t n_bytes);
    bool *ret_is_gone; /* set when `copy` failed: the result says nothing about the module */
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
