/* SPDX-License-Identifier: MIT */
/*
 * unwind: from a wrapper's call to the node of its stack.
 *
 * Model:   verified incremental unwinding. Each thread remembers its last captured stacks; a
 * capture walks outwards from the wrapper by compact rules until it meets a remembered frame, then
 *          verifies that frame's words, innermost to outermost, and takes its caller from memory.
 *          A guessed step on the thread's own stack is verified like any other, because all is
 *          forgotten before its words become unreadable (OS-2); elsewhere it is guessed again. A frame
 *          that rules cannot express restarts the capture in the interpreter (unwind_full.h).
 * Invariants
 *   UW-1 Nothing is written to the program's stack beyond our own frames; at most 512 bytes of
 * those. UW-2 No address is loaded that was not just proven to be on the stack or in mapped, ours
 * or loaded-module memory. UW-3 A returned stack is complete and right, or its root says truncated
 * or guessed. UW-4 A cached rule or remembered frame is used only in the epoch (modules_epoch) it
 * was made in. Threads: each its own struct unwind_memory. Signals: a nested capture of the same
 * thread must not reach here; the guard (thread.h) sends it to the side segment. Failure: never
 * outward; LOG_NODE_NONE at worst.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_H
#define MTRACE_COLLECTOR_UNWIND_H

#include "collector/unwind/unwind_types.h"

struct unwind_settings {
    uint32_t max_depth; /* innermost frames kept; 0 = no limit */
};

/* Once, before the first capture; again in a fork child, whose rule cache starts empty. */
void unwind_init(const struct unwind_settings *settings);

/* The node of the stack that called the wrapper. */
uint32_t unwind_capture(struct unwind_memory *memory, const struct unwind_origin *origin);

/* Gives the private mapping back; memory may be used again afterwards. */
void unwind_memory_done(struct unwind_memory *memory);

/* After a capture that did not come to its end: forgets what it may have left half done. */
void unwind_memory_distrust(struct unwind_memory *memory);

/* In a fork child: mappings are gone (MADV_DONTFORK); forget them without touching them. */
void unwind_memory_forget(struct unwind_memory *memory);

#endif
