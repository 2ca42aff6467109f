/* SPDX-License-Identifier: MIT */
/*
 * unwind: the stack node of a wrapper's call, by verified incremental unwinding.
 *
 * Each thread remembers its last captured stacks. A capture walks outwards from the wrapper by
 * compact rules until it reaches a remembered frame. It then verifies the words of that frame and
 * of the frames outside it, and takes their callers from memory. A guessed step on the thread's own
 * stack is verified like any other, because everything is forgotten before its words become
 * unreadable (OS-2); on other stacks it is guessed again. A frame that rules cannot express
 * restarts the capture in the interpreter (unwind_full.h).
 *
 * Invariants
 *   UW-1 Nothing is written to the program's stack except our own frames, at most 512 bytes.
 *   UW-2 No address is loaded unless it was just proven to be on the stack, in our memory, or in a
 *        loaded module.
 *   UW-3 A returned stack is complete and right, or its root says truncated or guessed.
 *   UW-4 A cached rule or remembered frame is used only in the epoch (modules_epoch) it was made
 *        in.
 *
 * Each thread has its own struct unwind_memory. A nested capture of the same thread must not
 * happen; the recursion guard (thread.h) sends it to the fallback segment. Failures stay inside;
 * LOG_NODE_NONE at worst.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_H
#define MTRACE_COLLECTOR_UNWIND_H

#include "collector/unwind/unwind_types.h"

struct unwind_settings {
    uint32_t max_depth; /* innermost frames kept; 0: no limit */
};

/* Call once before the first capture, and again in a fork child, whose rule cache starts empty. */
void unwind_init(const struct unwind_settings *settings);

/* The node of the stack that called the wrapper. */
uint32_t unwind_capture(struct unwind_memory *memory, const struct unwind_origin *origin);

/* Unmaps the private memory; `memory` may be used again. */
void unwind_memory_done(struct unwind_memory *memory);

/* After an abandoned capture: forgets what may be incomplete. */
void unwind_memory_distrust(struct unwind_memory *memory);

/* In a fork child: mappings are gone (MADV_DONTFORK); forget them without touching them. */
void unwind_memory_forget(struct unwind_memory *memory);

#endif
