/* SPDX-License-Identifier: MIT */
/*
 * record: turns a call into an event of the calling thread's segment.
 *
 * A wrapper passes the call and its origin (struct unwind_origin). This module takes the stack and
 * the time, reserves space, writes the words (reservation.h) and commits them.
 *
 * Invariants
 *   RC-1 record_free returns before the real free is called; record_alloc is called after the real
 *        allocation. So the events of a block are committed in the order of its owners.
 *   RC-2 Within a segment the times of a thread never decrease (LF-6).
 *   RC-3 Without a usable thread state an event goes to the shared fallback segment. Without space
 *        it is dropped and counted.
 *   RC-4 When sampling (sampler.h), blocks that are not drawn have no events. A realloc draws for
 *        the new block by its own size. If only the new block is drawn, the event is an allocation;
 *        if only the old one was, it is a free at the start of the call.
 *
 * Any thread. Async-signal-safe.
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

MTRACE_COLD bool record_draw_slow(size_t size_bytes);
MTRACE_COLD bool record_takes_slow(const void *block);

/* Decides whether a block of this size is recorded; if so, record_selected_alloc follows. When
 * sampling, most blocks cost only this test. */
static inline bool record_selects_alloc(size_t size_bytes)
{
    unsigned ways = mode_flags();

    if (!(ways & MODE_SAMPLED))
        return true;
    return mtrace_unlikely((ways & (MODE_TRACING_OFF | MODE_COMMAND_PENDING))
                           | sampler_count(size_bytes))
           && record_draw_slow(size_bytes);
}

/* Blocks are sampled and no other slow path is active: a wrapper may jump to the real function if
 * the block is not drawn. */
static inline bool record_counts_only(void)
{
    const unsigned others = MODE_SAMPLED | MODE_TRACING_OFF | MODE_CALLBACKS | MODE_SPECIAL_BLOCKS
                            | MODE_COMMAND_PENDING;

    return (mode_flags() & others) == MODE_SAMPLED;
}

/* Every block is recorded, and no slow path is active. */
static inline bool record_has_all(void)
{
    return mtrace_likely(
        !mode_has(MODE_SAMPLED | MODE_TRACING_OFF | MODE_SPECIAL_BLOCKS | MODE_COMMAND_PENDING));
}

/* Decides whether the free of this block is recorded; if so, record_selected_free follows. */
static inline bool record_selects_free(const void *block)
{
    unsigned ways = mode_flags();

    if (!(ways & MODE_SAMPLED))
        return true;
    return mtrace_unlikely((ways & MODE_COMMAND_PENDING) | sampled_blocks_may_have(block))
           && record_takes_slow(block);
}

/* A new block; alignment 0: malloc's own. */
void record_selected_alloc(const void *block, size_t size_bytes, enum log_call call,
                           size_t alignment, const struct unwind_origin *origin);
void record_drawn_known(const void *block, size_t size_bytes, size_t usable_bytes,
                        enum log_call call, size_t alignment, const struct unwind_origin *origin);
void record_selected_free(const void *block, const struct unwind_origin *origin);

static inline void record_alloc(const void *block, size_t size_bytes, enum log_call call,
                                size_t alignment, const struct unwind_origin *origin)
{
    if (record_selects_alloc(size_bytes))
        record_selected_alloc(block, size_bytes, call, alignment, origin);
}

/* The same if the caller knows the usable size; 0: it is unknown. */
static inline void record_alloc_known(const void *block, size_t size_bytes, size_t usable_bytes,
                                      enum log_call call, size_t alignment,
                                      const struct unwind_origin *origin)
{
    if (record_selects_alloc(size_bytes))
        record_drawn_known(block, size_bytes, usable_bytes, call, alignment, origin);
}

static inline void record_free(const void *block, const struct unwind_origin *origin)
{
    if (record_selects_free(block))
        record_selected_free(block, origin);
}

/* State from before the real realloc. */
struct record_resize {
    const void *old;           /* may be NULL */
    uint64_t began_ticks;      /* 0: nothing was recorded then */
    struct known_place *place; /* of live_block_index.h, held; NULL: not known */
    bool is_sample;            /* of the old block, where there are samples */
};

/* After all loads: the old block may come from another thread (CK-1). */
static inline uint64_t record_begin_ticks(void)
{
    return state_is_recording() ? clock_ticks_after() : 0;
}

MTRACE_COLD void record_hold_resized(struct record_resize *resize);
MTRACE_COLD void record_resize_cancel_slow(const struct record_resize *resize);

/* Before the real call; one of record_realloc, record_realloc_known and record_resize_cancel
 * follows. */
static inline void record_resize_begins(struct record_resize *ret, const void *old)
{
    ret->old = old;
    ret->place = NULL;
    ret->began_ticks = 0;
    ret->is_sample = mode_has(MODE_SAMPLED) && sampled_blocks_take(old);
    if (ret->is_sample || !mode_has(MODE_SAMPLED))
        ret->began_ticks = record_begin_ticks();
    if (mtrace_unlikely(mode_has(MODE_CALLBACKS)))
        record_hold_resized(ret);
}

/* The old block was not recorded, so the new one is an allocation (RC-4). */
static inline bool record_resize_is_alloc(const struct record_resize *resize)
{
    return mode_has(MODE_SAMPLED) && !resize->is_sample;
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
    if (record_resize_is_alloc(resize))
        record_alloc(block, size_bytes, call, 0, origin);
    else
        record_resized(block, size_bytes, call, resize, origin);
}

static inline void record_realloc_known(const void *block, size_t size_bytes, size_t usable_bytes,
                                        enum log_call call, const struct record_resize *resize,
                                        const struct unwind_origin *origin)
{
    if (record_resize_is_alloc(resize))
        record_alloc_known(block, size_bytes, usable_bytes, call, 0, origin);
    else
        record_resized_known(block, size_bytes, usable_bytes, call, resize, origin);
}

/* The old block was not changed, or its free is recorded next. */
static inline void record_resize_cancel(const struct record_resize *resize)
{
    if (mtrace_unlikely(resize->place != NULL || resize->is_sample))
        record_resize_cancel_slow(resize);
}

/* The call failed. old: realloc's block, which is still live. error: errno of the call. */
void record_failure(const void *old, size_t size_bytes, enum log_call call, int error,
                    const struct unwind_origin *origin);

/* Any other event: words[2..n_words) and the address are given; stamped now. origin may be NULL. */
void record_event(enum log_event_kind kind, uint64_t address, const uint64_t *words,
                  unsigned n_words, const struct unwind_origin *origin);

/* A name that an event refers to. define: writes it to the log once; false: no space. Id 0: no
 * memory. */
struct record_name {
    bool (*define)(uint32_t id);
    uint32_t id;
};

/*
 * As record_event, and defines the name first. A handler that forks in between leaves neither a
 * child without a log nor an event without its name. Without space for the name the event is
 * dropped. *ret_ticks (may be NULL): time of the event; 0: unknown.
 */
bool record_named_event(enum log_event_kind kind, uint64_t address, const uint64_t *words,
                        unsigned n_words, const struct unwind_origin *origin,
                        const struct record_name *name, uint64_t *ret_ticks);

/* The event names the text by the lowest 32 bits of words[2], which are set here. */
bool record_labelled(enum log_event_kind kind, uint64_t address, uint64_t *words, unsigned n_words,
                     const char *text, uint64_t *ret_ticks);

/* As record_event, for kinds whose node field has another meaning (LOG_TRACING…). False: there is
 * no log, or no space; the latter is counted. */
bool record_note(enum log_event_kind kind, uint32_t value, uint64_t address);

/* Charges the block to the group from now on. False: as for record_note. */
bool record_move(const void *block, uint32_t group, const struct unwind_origin *origin);

/* In a fork child. */
void record_forget(void);

/* Finds how usable sizes are read. After real_init. */
void record_init(void);

#endif
