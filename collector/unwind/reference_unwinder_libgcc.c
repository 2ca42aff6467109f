/* SPDX-License-Identifier: MIT */
/*
 * The reference unwinder where libunwind cannot be used: libgcc's unwinder for C++ exceptions.
 *
 * On MIPS libunwind reads .eh_frame by unaligned accesses, which the processor refuses and
 * qemu-user does not emulate.
 */
#include "collector/unwind/reference_unwinder.h"
#include "lib/abi/attr.h"

#include <unwind.h>

struct walk {
    uintptr_t *pcs;
    bool *exact; /* NULL: not needed */
    size_t n_frames, max;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    int is_before = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &is_before);

    if (pc & 2) { /* not an instruction address: bit 1 marks an interrupted pc */
        pc &= ~(uintptr_t)3;
        is_before = 1;
    }
    if (pc == 0 || walk->n_frames == walk->max)
        return _URC_END_OF_STACK;
    walk->pcs[walk->n_frames] = pc;
    if (walk->exact)
        walk->exact[walk->n_frames] = is_before != 0;
    walk->n_frames++;
    return _URC_NO_REASON;
}

MTRACE_EXPORT size_t mtrace_oracle_walk(uintptr_t *pcs, bool *exact, size_t max)
{
    struct walk walk = {pcs, exact, 0, max};

    _Unwind_Backtrace(add_frame, &walk);
    return walk.n_frames;
}

MTRACE_EXPORT size_t mtrace_oracle_walk_fast(uintptr_t *pcs, size_t max)
{
    return mtrace_oracle_walk(pcs, NULL, max);
}
