/* SPDX-License-Identifier: MIT */
/*
 * code_patch: functions of the program that shall lead to us first.
 *
 * Model:   the entry of a function becomes a jump to a stub nearby, which goes to one of our functions
 *          with an argument more; the instructions that the jump displaced stand behind the stub, and
 *          lead back: calling those calls the original function. Everything is planned elsewhere
 *          (recorder/patch/trampoline.h); here it is compared and written.
 * Invariants
 *   CP-1 Nothing is written unless all that is there is what was planned for.
 *   CP-2 All patches are made, or none is left.
 *   CP-3 No page is ever writable and executable, and no page of code ceases to be executable, even
 *        for an instant: bytes are written through /proc/self/mem.
 *   CP-4 A frame never returns into the moved instructions: no call is among them.
 * Threads: while there is one only. Signals: blocked by the caller. Failure: why, nothing was changed.
 */
#ifndef MTRACE_COLLECTOR_CODE_PATCH_H
#define MTRACE_COLLECTOR_CODE_PATCH_H

#include "lib/abi/log_format.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CODE_PATCH_MAX_EXPECTED = 20,
    CODE_PATCH_MAX_MOVED = 56,
    CODE_PATCH_MAX_FIXES = 6,
};

struct code_patch {
    uintptr_t address;
    uintptr_t hook;     /* our function */
    uintptr_t argument; /* its sixth */
    uintptr_t original; /* set: what calls the function as it was */
    uint8_t n_expected; /* at least a jump's */
    uint8_t n_moved;
    uint8_t n_fixes;
    uint8_t expected[CODE_PATCH_MAX_EXPECTED];
    uint8_t moved[CODE_PATCH_MAX_MOVED];

    struct {
        uint8_t at; /* of 4 bytes in `moved` that shall be target - (address of end) */
        uint8_t end;
        uintptr_t target;
    } fixes[CODE_PATCH_MAX_FIXES];
};

/* Makes all; `start`: the lowest address of the program, below which the stubs are put. */
enum log_inside code_patch_apply(struct code_patch *patches, size_t n, uintptr_t start);

#endif
