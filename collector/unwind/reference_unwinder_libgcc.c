/* SPDX-License-Identifier: MIT */
/*
 * The oracle where libunwind is of no use (MIPS: it reads .eh_frame by accesses that are not aligned, which the processor
 * refuses and qemu-user does not make good): what libgcc's unwinder finds, that of C++ exceptions.
 */
#include "collector/unwind/reference_unwinder.h"
#include "lib/abi/attr.h"

#include <unwind.h>

struct walk {
    uintptr_t *pcs;
    bool *exact; /* NULL: not asked for */
    size_t n_frames, max;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    int is_before = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &is_before);

    if (pc & 2) { /* no instruction is there: it says so of what was interrupted */
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
