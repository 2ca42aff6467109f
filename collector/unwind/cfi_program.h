/* SPDX-License-Identifier: MIT */
/*
 * cfi_program: runs the instructions of a CIE and an FDE up to one code address.
 *
 * Used by cfi.c only; its invariants (CF-1 … CF-4) hold here too.
 */
#ifndef MTRACE_COLLECTOR_CFI_PROGRAM_H
#define MTRACE_COLLECTOR_CFI_PROGRAM_H

#include "collector/unwind/cfi_cursor.h"
#include "collector/unwind/cfi_row.h"

enum {
    CFI_SAVED_ROWS = 8 /* depth of DW_CFA_remember_state; compilers nest at most two */
};

struct cfi_cie {
    uint64_t code_alignment;
    int64_t data_alignment;
    uint32_t return_column; /* < ARCH_N_REGISTERS */
    uint8_t pointer_encoding;
    bool has_augmentation;
    bool is_signal_frame;
    struct cfi_cursor program;
};

struct cfi_fde {
    uintptr_t start;
    uint64_t n_bytes; /* of code */
    struct cfi_cursor program;
};

/* Intermediate rows; too large for the program's stack. */
struct cfi_program_scratch {
    struct cfi_row initial; /* after the CIE's program */
    struct cfi_row saved[CFI_SAVED_ROWS];
};

/* The row of address, which is inside fde; false when the program is malformed. */
bool cfi_program_run(const struct cfi_cie *cie, const struct cfi_fde *fde, uintptr_t address,
                     struct cfi_program_scratch *scratch, struct cfi_row *ret_row);

#endif
