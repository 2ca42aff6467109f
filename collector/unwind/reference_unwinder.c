/* SPDX-License-Identifier: MIT */
#include "collector/unwind/reference_unwinder.h"

#define UNW_LOCAL_ONLY
#include "lib/abi/attr.h"

#include <libunwind.h>
#include <pthread.h>

/* libunwind asks the kernel whether addresses are mapped, through calls that are cancellation
 * points. */
static int forbid_cancel(void)
{
    int before = PTHREAD_CANCEL_ENABLE;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

#if defined(__x86_64__)
static const bool IS_SAID_OF_CALLER =
    true; /* of the frame outside a signal frame, which was interrupted */
#else
static const bool IS_SAID_OF_CALLER = false; /* of the signal frame itself */
#endif

#if defined(__arm__)
static const uintptr_t THUMB = 1; /* a bit of the address of Thumb code */
#else
static const uintptr_t THUMB = 0;
#endif

static size_t walk(uintptr_t *pcs, bool *exact, size_t max)
{
    unw_context_t context;
    unw_cursor_t cursor;
    size_t n_frames = 0;
    bool is_said = false;
    unw_word_t last_pc = 0;
    unw_word_t last_sp = 0;

    if (unw_getcontext(&context) < 0 || unw_init_local(&cursor, &context) < 0)
        return 0;
    while (n_frames < max && unw_step(&cursor) > 0) {
        unw_word_t pc;
        unw_word_t sp;

        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) < 0 || unw_get_reg(&cursor, UNW_REG_SP, &sp) < 0
            || pc == 0 || (pc == last_pc && sp == last_sp)) /* a step without progress */
            break;
        last_pc = pc;
        last_sp = sp;
        pcs[n_frames] = (uintptr_t)pc & ~THUMB;
        const bool said[] = {is_said, unw_is_signal_frame(&cursor) > 0};
        is_said = said[1];
        exact[n_frames++] = said[IS_SAID_OF_CALLER];
    }
    return n_frames;
}

MTRACE_EXPORT size_t mtrace_oracle_walk(uintptr_t *pcs, bool *exact, size_t max)
{
    int cancel_state = forbid_cancel();
    size_t n_frames = walk(pcs, exact, max);

    pthread_setcancelstate(cancel_state, &cancel_state);
    return n_frames;
}

MTRACE_EXPORT size_t mtrace_oracle_walk_fast(uintptr_t *pcs, size_t max)
{
    int cancel_state = forbid_cancel();
    int n_frames = unw_backtrace((void **)(void *)pcs, (int)max);

    pthread_setcancelstate(cancel_state, &cancel_state);
    for (int i = 0; i < n_frames; i++)
        pcs[i] &= ~THUMB;
    return n_frames > 0 ? (size_t)n_frames : 0;
}
