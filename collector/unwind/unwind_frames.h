/* SPDX-License-Identifier: MIT */
/*
 * unwind_frames: what a thread remembers of its stacks, and the state of the walk in progress.
 *
 * Words
 *   frame    an activation: pc, and the stack and frame pointer it will have when its callee has
 *            returned. The callee's CFA is therefore its `sp`.
 *   link     how the frame's caller was found, as far as verifying it again needs to know.
 *   record   one remembered stack; frames[0] is the outermost.
 *   fresh    frames found in this capture that are in no record yet, innermost first. The one
 * behind them, fresh.frames[fresh.n_frames], is where the walk is: its caller is wanted next.
 *   sibling  a frame whose caller is the remembered one, at another place of the same function.
 *   segment  a run of frames on one stack; crossing a signal frame may begin another.
 *
 * Invariants
 *   UF-1 frames[i-1] of a record was the caller of frames[i] in the record's epoch. With a limit on
 *        depth, frames behind it may have changed since; they are proven before they count again.
 *   UF-2 frames[i].node was interned below frames[i-1].node, frames[0].node below the root.
 *   UF-3 FRAME_TAINTED is set in a frame iff its step or that of a frame outside it was guessed.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_FRAMES_H
#define MTRACE_COLLECTOR_UNWIND_FRAMES_H

#include "collector/unwind/unwind.h"
#include "collector/unwind/unwind_rule.h"
#include "common/attr.h"

#include <stddef.h>

enum unwind_frame_flags {
    FRAME_EXACT = 1 << 0,   /* pc was interrupted; otherwise it is a return address */
    FRAME_USES_FP = 1 << 1, /* its caller depends on fp */
    FRAME_GUESSED = 1 << 2, /* its caller was guessed by the frame pointer */
    FRAME_TAINTED = 1 << 3,
    FRAME_OUTERMOST = 1 << 4, /* nothing calls this code, whatever the stack holds */
};

enum unwind_link {
    LINK_FP_KEPT = 0,          /* the caller has the same fp */
    LINK_STEP = INT16_MIN,     /* take the step again and compare */
    LINK_FULL = INT16_MIN + 1, /* only the interpreter can tell */
    /* any other: the caller's fp is the word at CFA + link */
};

struct unwind_frame {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t fp;
    uint32_t node;
    uint32_t module;
    int16_t link;   /* enum unwind_link */
    uint16_t flags; /* enum unwind_frame_flags */
};

struct unwind_record {
    struct unwind_frame *frames;
    size_t n_frames;
    size_t capacity;
    uintptr_t anchor;      /* highest sp of the innermost segment */
    uintptr_t proven_high; /* end of the pages from anchor's stack known to be readable */
    uint32_t root;         /* LOG_NODE_* that frames[0].node was interned below */
    bool is_truncated;     /* frames[0] has a caller that could not be found */
    uint64_t last_used;
};

struct unwind_fresh {
    struct unwind_frame *frames;
    size_t n_frames;
    size_t capacity;
};

enum {
    UNWIND_RECORDS = 4,    /* the thread's own stack, and three of others (handlers, coroutines) */
    UNWIND_MAX_JUMPS = 64, /* signal frames crossed in one stack */
    UNWIND_WINDOWS = 64,
    UNWIND_KNOWN_BITS = 11,                 /* of the index into what was interned before */
    UNWIND_PRIVATE_STACK_BYTES = 64 * 1024, /* signal handlers of the program may run on it */
};

/* The stack cut to max_depth frames that belongs to a whole one. */
struct unwind_window {
    uint32_t node;
    uint32_t cut_node;
};

/* A node that was interned before: saves the search in the tree that all threads share. */
struct unwind_known {
    uint64_t key; /* of a frame: pc, module and exact; 0: empty */
    uint32_t parent;
    uint32_t node;
};

struct unwind_walk {
    uintptr_t low, high; /* readable bytes of the segment we are on */
    uintptr_t first_segment_sp;
    uint32_t n_jumps;  /* signal frames crossed */
    bool is_trusted;   /* no step so far was guessed */
    bool is_own_stack; /* on the thread's stack, whose bounds are known */
    bool is_truncated;
};

/* Arguments and result of a rule made on the private stack. */
struct unwind_rule_request {
    uintptr_t address;
    struct unwind_rule rule;
};

struct unwind_state {
    const struct unwind_memory *memory;
    uint32_t epoch;
    bool is_on_private_stack;
    size_t n_wanted; /* innermost frames of a stack; SIZE_MAX: all */
    uint64_t clock;
    struct unwind_record records[UNWIND_RECORDS];
    struct unwind_fresh fresh;
    struct unwind_walk walk;
    struct unwind_record *record; /* of the capture in progress */
    struct unwind_record *last_record;
    struct arch_registers registers;
    struct unwind_origin origin;
    struct unwind_rule_scratch scratch;
    struct unwind_rule_request request;
    struct unwind_window windows[UNWIND_WINDOWS];
    _Alignas(64) struct unwind_known known[1 << UNWIND_KNOWN_BITS];
    _Alignas(64) unsigned char private_stack[UNWIND_PRIVATE_STACK_BYTES];
};

/* Makes memory->state; NULL when there is no memory. */
struct unwind_state *unwind_state_new(struct unwind_memory *memory);
void unwind_state_free(struct unwind_state *state);

/* Forgets every frame: the epoch changed. */
void unwind_state_reset(struct unwind_state *state, uint32_t epoch);

/* Room for n_frames; false without memory. */
bool unwind_record_reserve(struct unwind_record *record, size_t n_frames);
bool unwind_fresh_reserve_slow(struct unwind_fresh *fresh);

/* Room for one more frame and for the one behind it. */
static inline bool unwind_fresh_reserve(struct unwind_fresh *fresh)
{
    return mtrace_likely(fresh->n_frames + 1 < fresh->capacity) || unwind_fresh_reserve_slow(fresh);
}

static inline bool unwind_fresh_push(struct unwind_fresh *fresh, const struct unwind_frame *frame)
{
    if (!unwind_fresh_reserve(fresh))
        return false;
    fresh->frames[fresh->n_frames++] = *frame;
    return true;
}

/* Runs function(state) on the private stack, unless it is on it already. */
void unwind_state_run(struct unwind_state *state, void (*function)(void *state));

/* The frames of the last capture, outermost first, those behind a limit left out; NULL if there was
 * none. */
const struct unwind_frame *unwind_last_frames(const struct unwind_memory *memory,
                                              size_t *ret_n_frames);
/* What it hangs below: LOG_NODE_COMPLETE, _TRUNCATED or _GUESSED. */
uint32_t unwind_last_root(const struct unwind_memory *memory);

#endif
