/* SPDX-License-Identifier: MIT */
/*
 * unwind_state: a thread's remembered stacks, and the walk in progress.
 *
 * Each thread has its own; the recursion guard (thread.h) prevents nested captures. NULL without
 * memory.
 *
 * The state has a private stack for functions that need more space than the fast path.
 *
 *   UK-1 No signal handler of the program runs on a stack of ours: signals are blocked while the
 *        stack pointer is on it.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_STATE_H
#define MTRACE_COLLECTOR_UNWIND_STATE_H

#include "collector/arch/arch.h"
#include "collector/os/memory.h"
#include "collector/unwind/unwind_cfi.h"
#include "collector/unwind/unwind_frames.h"
#include "collector/unwind/unwind_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UNWIND_RECORDS = 4,    /* the thread's own stack, and three of others (handlers, coroutines) */
    UNWIND_MAX_JUMPS = 64, /* signal frames crossed in one stack */
    UNWIND_WINDOWS = 64,
    UNWIND_FIRST_FRAMES = 128,
    UNWIND_KNOWN_BITS = 11, /* of the index into what was interned before */
    UNWIND_PRIVATE_STACK_BYTES = 16 * 1024,
};

/* A stack cut to max_depth frames, and the whole one it belongs to. */
struct unwind_window {
    uint32_t node;
    uint32_t cut_node;
};

/* A node that was interned before: saves the lookup in the shared tree. */
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
    bool has_gap;          /* loaded a word beyond pages that may be unreadable */
    uintptr_t proven_page; /* where a word beyond [low, high) was probed last; 0: none */
};

/* Arguments and result of a rule made through unwind_stack_run. */
struct unwind_rule_request {
    uintptr_t address;
    struct unwind_rule rule;
};

struct unwind_state {
    struct block_link link; /* link in the pool of ended threads' states */
    const struct unwind_memory *memory;
    uintptr_t stack_end; /* of the whole own stack, where parts may be unreadable; else 0 */
    uint32_t epoch;
    uint32_t generation; /* own_stacks_generation that other stacks were remembered in */
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
    struct unwind_cfi_scratch scratch;
    struct unwind_rule_request request;
    struct unwind_window windows[UNWIND_WINDOWS];
    _Alignas(64) struct unwind_known known[1 << UNWIND_KNOWN_BITS];
    /* The first arrays of records[0] and fresh: a thread with flat stacks maps nothing more. */
    struct unwind_frame first_frames[2][UNWIND_FIRST_FRAMES];
    _Alignas(64) struct unwind_word words[UNWIND_WORDS]; /* of records[0] */
    _Alignas(64) unsigned char private_stack[UNWIND_PRIVATE_STACK_BYTES];
};

/* Before the first state; again in a fork child, where no state is mapped. */
void unwind_state_init(void);

/* Creates memory->state; NULL without memory. */
struct unwind_state *unwind_state_new(struct unwind_memory *memory);
void unwind_state_free(struct unwind_state *state);

/* Forgets every frame: the epoch changed. */
void unwind_state_reset(struct unwind_state *state, uint32_t epoch);

/* The next capture of this memory first forgets every frame; a capture in progress continues. */
void unwind_state_forget_later(const struct unwind_memory *memory);

/* Forgets everything; the next capture starts empty. */
void unwind_state_distrust(struct unwind_state *state);

/* The frames of the last capture, outermost first, without those beyond a limit; NULL if there was
 * none. */
const struct unwind_frame *unwind_last_frames(const struct unwind_memory *memory,
                                              size_t *ret_n_frames);
/* Their root: LOG_NODE_COMPLETE, _TRUNCATED or _GUESSED. */
uint32_t unwind_last_root(const struct unwind_memory *memory);

/* Runs function(state): on the program's stack if it has enough space, else on a private one. */
void unwind_stack_run(struct unwind_state *state, void (*function)(void *state));

#endif
