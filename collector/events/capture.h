/* SPDX-License-Identifier: MIT */
/*
 * capture: the stack id of a wrapper's caller, from the unwinder that MTRACE_UNWINDER names.
 *
 * Threads: inside the recursion guard (thread.h). Async-signal-safe as unwind.h. LOG_NODE_NONE on
 * failure.
 */
#ifndef MTRACE_COLLECTOR_CAPTURE_H
#define MTRACE_COLLECTOR_CAPTURE_H

#include "collector/os/config.h"
#include "collector/thread/thread.h"
#include "collector/unwind/unwind.h"
#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stdint.h>

/* Before the first capture. Unwinders that need no other library work from here on. */
void capture_init(const struct config *config);

/* Opens libmtrace-oracle.so beside this library if the unwinder is libunwind or check. Only outside
 * of recording: it allocates. */
void capture_open_oracle(const struct config *config);

/* Written by capture_init and read here only. */
extern MTRACE_HIDDEN enum config_unwinder g_capture_unwinder;
extern MTRACE_HIDDEN bool g_capture_has_free_backtraces;

uint32_t capture_stack_id_slow(struct thread *thread, const struct unwind_origin *origin);

static inline uint32_t capture_stack_id(struct thread *thread, const struct unwind_origin *origin)
{
    if (mtrace_likely(g_capture_unwinder == CONFIG_UNWINDER_FAST))
        return unwind_capture(&thread->unwind, origin);
    return capture_stack_id_slow(thread, origin);
}

#endif
