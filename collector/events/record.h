/* SPDX-License-Identifier: MIT */
/*
 * record: turns a call into an event of the calling thread's segment.
 *
 * Model:   a wrapper says what happened and where from (struct unwind_origin); this file takes the
 *          stack, the time and the room (reservation.h), writes the words (draft.h) and commits them.
 * Invariants
 *   RC-1 record_free returns before the real free is called, record_alloc is called after the real
 *        allocation: a block's events are committed in the order in which it changes hands.
 *   RC-2 Times of a thread never decrease within its segment (LF-6).
 *   RC-3 A caller without a usable thread state writes to the side segment; without room anywhere
 *        the event is counted as dropped.
 *   RC-4 Where blocks are samples (sampler.h) of all others neither the beginning nor the end is recorded. A
 *        realloc ends the old block and draws anew for the new one, whose probability is that of its own size: was only the
 *        new one drawn it is an allocation, was only the old one a sample it is a free when the call began.
 * Threads: any. Signals: safe. Failure: counted, never outward.
 */
#ifndef MTRACE_COLLECTOR_RECORD_H
#define MTRACE_COLLECTOR_RECORD_H

#include "collector/os/clock.h"
#include "collector/sampling/live_block_index.h"
#include "collector/sampling/sampled_blocks.h"
#include "collector/sampling/sampler.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"
#include "collector/unwind/unwind.h"
#include "lib/abi/log_format.h"

#include <stddef.h>
#include <stdint.h>

/* Of what needs more than a look. */
MTRACE_COLD bool record_draws_slow(size_t size_bytes);
MTRACE_COLD bool record_takes_slow(const void *block);

/*
 * The decision before anything else: is a block of this size recorded? Most are not where blocks are samples,
 * and cost nothing but this. Of who has a block, record_drawn follows where it is.
 */
static inline bool record_draws(size_t size_bytes)
{
    unsigned ways = state_ways();

    if (!(ways & STATE_SAMPLED))
        return true;
    return mtrace_unlikely((ways & (STATE_TRACING_OFF | STATE_NUDGED)) | sampler_counts(size_bytes))
           && record_draws_slow(size_bytes);
}

/*
 * The same before the decision, for entries that have nothing to do but to hand on what the program asked for: blocks are samples,
 * and nothing else is to be looked at. False: what is said below decides, or the block is.
 */
static inline bool record_counts_only(void)
{
    const unsigned others =
        STATE_SAMPLED | STATE_TRACING_OFF | STATE_WATCHED | STATE_SLOW_PATH_FLAGS | STATE_NUDGED;

    return (state_ways() & others) == STATE_SAMPLED;
}

/* Each block is recorded, and nothing else is to be looked at. */
static inline bool record_has_all(void)
{
    return mtrace_likely(
        !state_has_way(STATE_SAMPLED | STATE_TRACING_OFF | STATE_SLOW_PATH_FLAGS | STATE_NUDGED));
}

/* Is the end of this block recorded? Then record_ended follows. */
static inline bool record_takes(const void *block)
{
    unsigned ways = state_ways();

    if (!(ways & STATE_SAMPLED))
        return true;
    return mtrace_unlikely((ways & STATE_NUDGED) | sampled_blocks_may_have(block))
           && record_takes_slow(block);
}

/* A new block; alignment 0: malloc's own. */
void record_drawn(const void *block, size_t size_bytes, enum log_call call, size_t alignment,
                  const struct unwind_origin *origin);
void record_drawn_known(const void *block, size_t size_bytes, size_t usable_bytes,
                        enum log_call call, size_t alignment, const struct unwind_origin *origin);
void record_ended(const void *block, const struct unwind_origin *origin);

static inline void record_alloc(const void *block, size_t size_bytes, enum log_call call,
                                size_t alignment, const struct unwind_origin *origin)
{
    if (record_draws(size_bytes))
        record_drawn(block, size_bytes, call, alignment, origin);
}

/* The same where the caller knows how many bytes the block can hold, or 0: nobody does. */
static inline void record_alloc_known(const void *block, size_t size_bytes, size_t usable_bytes,
                                      enum log_call call, size_t alignment,
                                      const struct unwind_origin *origin)
{
    if (record_draws(size_bytes))
        record_drawn_known(block, size_bytes, usable_bytes, call, alignment, origin);
}

static inline void record_free(const void *block, const struct unwind_origin *origin)
{
    if (record_takes(block))
        record_ended(block, origin);
}

/* What is known before the real realloc is called. */
struct record_resize {
    const void *old;           /* may be NULL */
    uint64_t began_ticks;      /* 0: nothing was recorded then */
    struct known_place *place; /* of live_block_index.h, held; NULL: not known */
    bool is_sample;            /* of the old block, where there are samples */
};

/* Behind all loads, as the old block may have come from another thread just now (CK-1). */
static inline uint64_t record_begin_ticks(void)
{
    return state_is_recording() ? clock_ticks_after() : 0;
}

MTRACE_COLD void record_hold_resized(struct record_resize *resize);
MTRACE_COLD void record_let_resized_be(const struct record_resize *resize);

/* Before the real call; one of record_realloc, record_realloc_known and record_kept follows. */
static inline void record_resize_begins(struct record_resize *ret, const void *old)
{
    ret->old = old;
    ret->place = NULL;
    ret->began_ticks = 0;
    ret->is_sample = state_has_way(STATE_SAMPLED) && sampled_blocks_take(old);
    if (ret->is_sample || !state_has_way(STATE_SAMPLED))
        ret->began_ticks = record_begin_ticks();
    if (mtrace_unlikely(state_has_way(STATE_WATCHED)))
        record_hold_resized(ret);
}

/* The old block was none that is recorded (RC-4). */
static inline bool record_is_again(const struct record_resize *resize)
{
    return state_has_way(STATE_SAMPLED) && !resize->is_sample;
}

void record_resized(const void *block, size_t size_bytes, enum log_call call,
                    const struct record_resize *resize, const struct unwind_origin *origin);
void record_resized_known(const void *block, size_t size_bytes, size_t usable_bytes,
                          enum log_call call, const struct record_resize *resize,
                          const struct unwind_origin *origin);

/* The old block (not NULL) became this one. */
static inline void record_realloc(const void *block, size_t size_bytes, enum log_call call,
                                  const struct record_resize *resize,
                                  const struct unwind_origin *origin)
{
    if (record_is_again(resize))
        record_alloc(block, size_bytes, call, 0, origin);
    else
        record_resized(block, size_bytes, call, resize, origin);
}

static inline void record_realloc_known(const void *block, size_t size_bytes, size_t usable_bytes,
                                        enum log_call call, const struct record_resize *resize,
                                        const struct unwind_origin *origin)
{
    if (record_is_again(resize))
        record_alloc_known(block, size_bytes, usable_bytes, call, 0, origin);
    else
        record_resized_known(block, size_bytes, usable_bytes, call, resize, origin);
}

/* The old block is what it was, or is about to be recorded as freed. */
static inline void record_kept(const struct record_resize *resize)
{
    if (mtrace_unlikely(resize->place != NULL || resize->is_sample))
        record_let_resized_be(resize);
}

/* The call returned no block; old: realloc's block, still alive. error: errno of the caller. */
void record_failure(const void *old, size_t size_bytes, enum log_call call, int error,
                    const struct unwind_origin *origin);

/* Any other event: words[2..n_words) and the address are given; stamped now. origin may be NULL. */
void record_event(enum log_event_kind kind, uint64_t address, const uint64_t *words,
                  unsigned n_words, const struct unwind_origin *origin);

/* What an event names by an id. define: into the log, unless it is there; false: no room. Id 0: it could not be had. */
struct record_name {
    bool (*define)(uint32_t id);
    uint32_t id;
};

/*
 * As record_event, and defines the name first, where a handler may fork: no child finds itself without the log, nor has the
 * event without the name. An event whose name has no room is dropped. *ret_ticks (or NULL) is the stamp, or 0: it is not
 * known here.
 */
bool record_named_event(enum log_event_kind kind, uint64_t address, const uint64_t *words,
                        unsigned n_words, const struct unwind_origin *origin,
                        const struct record_name *name, uint64_t *ret_ticks);

/* The event names the text by the lowest 32 bits of words[2], which are set here. */
bool record_labelled(enum log_event_kind kind, uint64_t address, uint64_t *words, unsigned n_words,
                     const char *text, uint64_t *ret_ticks);

/* As record_event, for kinds whose node field says something else (LOG_TRACING…). address: or 0. False: there
 * is no log, or it has no room, which is counted. */
bool record_note(enum log_event_kind kind, uint32_t value, uint64_t address);

/* The block is charged to the group from now on. False: as record_note, and it is not. */
bool record_move(const void *block, uint32_t group, const struct unwind_origin *origin);

/* In a fork child. */
void record_forget(void);

/* The rules of usable sizes, once real_init has run. */
void record_init(void);

#endif
