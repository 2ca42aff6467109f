/* SPDX-License-Identifier: MIT */
/*
 * code_patch: makes functions of the program lead to our functions first.
 *
 * The entry of a function becomes a jump to a stub nearby, which calls one of our functions with
 * one more argument. The displaced instructions follow the stub and lead back: calling them calls
 * the original function. The patches are planned elsewhere (recorder/patch/trampoline.h); this
 * module compares and writes.
 *
 * Invariants
 *   CP-1 Nothing is written unless all bytes in place are those of the plan.
 *   CP-2 Either all patches are made or none.
 *   CP-3 No page is ever writable and executable, and no code page stops being executable even for
 *        a moment: bytes are written through /proc/self/mem.
 *   CP-4 No frame returns into moved instructions: there is no call among them.
 *
 * Call while there is one thread, with signals blocked. The result says why it failed; then nothing
 * was changed.
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
    uintptr_t argument; /* its sixth argument */
    uintptr_t original; /* set: calls the original function */
    uint8_t n_expected; /* at least a jump's */
    uint8_t n_moved;
    uint8_t n_fixes;
    uint8_t expected[CODE_PATCH_MAX_EXPECTED];
    uint8_t moved[CODE_PATCH_MAX_MOVED];

    struct {
        uint8_t at; /* of 4 bytes in `moved` to be set to target - (address of end) */
        uint8_t end;
        uintptr_t target;
    } fixes[CODE_PATCH_MAX_FIXES];
};

/* Makes all patches. `start`: the lowest address of the program; the stubs are placed below it. */
enum log_embedded code_patch_apply(struct code_patch *patches, size_t n, uintptr_t start);

#endif
