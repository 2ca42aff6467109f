/* SPDX-License-Identifier: MIT */
/*
 * unwind_frames: frames of a stack, in growing arrays.
 *
 * Terms
 *   frame    an activation: pc, and the stack and frame pointer it will have when its callee has
 *            returned. The callee's CFA is therefore its `sp`.
 *   link     how the frame's caller was found, as far as verification needs it.
 *   record   one remembered stack; frames[0] is the outermost.
 *   fresh    frames found in this capture that are in no record yet, innermost first. The element
 *            after them, fresh.frames[fresh.n_frames], is the position of the walk: its caller is
 *            found next.
 *   sibling  a frame whose caller is the remembered one, at another call of the same function.
 *   segment  a run of frames on one stack; crossing a signal frame may begin another.
 *
 * Invariants
 *   UF-1 frames[i-1] of a record was the caller of frames[i] in the record's epoch. With a depth
 *        limit, frames beyond it may have changed since; they are verified before they count again.
 *   UF-2 frames[i].node was interned below frames[i-1].node, frames[0].node below the root.
 *   UF-3 FRAME_TAINTED is set in a frame iff its step or that of a frame outside it was guessed.
 *   UF-4 fp of a remembered frame is right if FRAME_READS_FP is set. Otherwise it may be that of a
 *        former stack, since nothing depends on it.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_FRAMES_H
#define MTRACE_COLLECTOR_UNWIND_FRAMES_H

#include "collector/arch/arch.h"
#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unwind_frame_flags {
    FRAME_EXACT = 1 << 0,    /* pc was interrupted; otherwise it is a return address */
    FRAME_READS_FP = 1 << 1, /* its caller, or one further out, depends on fp */
    FRAME_GUESSED = 1 << 2,  /* its caller was guessed by the frame pointer */
    FRAME_TAINTED = 1 << 3,
    FRAME_OUTERMOST = 1 << 4, /* nothing calls this code, whatever the stack holds */
    FRAME_LOW_SP = 1 << 5,    /* sp is not known to be more than the end of its callee's record */
    FRAME_GIVEN = FRAME_EXACT | FRAME_LOW_SP, /* known before its caller is found */
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
    int16_t link;     /* enum unwind_link */
    uint16_t flags;   /* enum unwind_frame_flags */
    uint16_t n_words; /* words of the record that verify this and all outer frames; 0: use frames */
    int16_t ra;       /* its return address is at CFA + ra; unwind_frame_ra */
};

/* An address that is offset bytes away. */
static inline uintptr_t unwind_at(uintptr_t base, int32_t offset)
{
    return base + (uintptr_t)(intptr_t)offset;
}

static inline uintptr_t unwind_frame_ra(const struct unwind_frame *frame)
{
    return (uintptr_t)(intptr_t)(ARCH_HAS_FIXED_RA ? ARCH_RA_AT_CFA : frame->ra);
}

/* A word of the stack as it was at the capture. */
struct unwind_word {
    const uintptr_t *at;
    uintptr_t value;
};

enum {
    /* Outermost frames whose words are remembered, at most two words each. */
    UNWIND_WORD_FRAMES = 512,
    UNWIND_WORDS = 1 + 2 * UNWIND_WORD_FRAMES,
};

/*
 * words[0] never equals memory, so a search for the first word that differs ends there.
 * frames[i].n_words: words[1] to words[n_words - 1] hold what frames[i] and all outer frames found
 * their callers from. Frames inside one whose step must be repeated have none.
 */
struct unwind_record {
    struct unwind_frame *frames;
    struct unwind_word *words; /* UNWIND_WORDS, or NULL */
    size_t n_frames;
    size_t capacity;
    uintptr_t anchor;      /* highest sp of the innermost segment */
    uintptr_t proven_high; /* end of the pages from anchor's stack known to be readable */
    uint32_t root;         /* LOG_NODE_* that frames[0].node was interned below */
    bool is_truncated;     /* frames[0] has a caller that could not be found */
    bool is_lent;          /* frames are not a mapping of their own */
    uint64_t last_used;
};

struct unwind_fresh {
    struct unwind_frame *frames;
    size_t n_frames;
    size_t capacity;
    bool is_lent; /* as in unwind_record */
};

/* Gives a record without an array the caller's array as its first one. */
void unwind_record_lend(struct unwind_record *record, struct unwind_frame *frames, size_t n_frames);
void unwind_fresh_lend(struct unwind_fresh *fresh, struct unwind_frame *frames, size_t n_frames);

/* Forgets the frames, and where their stack is. */
static inline void unwind_record_reset(struct unwind_record *record)
{
    record->n_frames = 0;
    record->anchor = 0;
    record->proven_high = 0;
}

/* Reserves n_frames; false without memory. */
bool unwind_record_reserve(struct unwind_record *record, size_t n_frames);
bool unwind_fresh_reserve_slow(struct unwind_fresh *fresh);

/* Reserves one more frame and the element after it. */
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

void unwind_record_free(struct unwind_record *record);
void unwind_fresh_free(struct unwind_fresh *fresh);

#endif
