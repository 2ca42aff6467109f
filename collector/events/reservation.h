/* SPDX-License-Identifier: MIT */
/*
 * reservation: the words of an event, space for it in the segment of its thread, and its time.
 *
 * A recording reserves space, writes the words of one event there and commits them with one release
 * store. The slow path begins a segment, a time base or a group before the event.
 *
 * Invariants
 *   RO-1 A reservation is for one event. The time fits into 40 bits and is not before that of the
 *        previous event (RC-2).
 *   RO-2 The slow path commits all that it writes before it reserves the space for the event.
 *   RO-3 When sampling, a segment fills slowly. It is sealed when a block is drawn LATE_TICKS after
 *        the segment began, so that the recorder gets all samples except those of the last seconds.
 *   RO-4 A thread with events looks for commands of the recorder every LOOK_TICKS: each event
 *        compares its time anyway.
 *   SD-1 A record of the shared fallback segment is complete before its `valid` is stored.
 *   SD-2 The writer that completes the last record seals that segment, so never while a record is
 *        being written.
 *   SD-3 The space of such a record is reserved before its time is taken, so that in_flight.h finds
 *        every record that was stamped.
 *
 * Threads: reservation_* inside the recursion guard (thread.h); an abandoned reservation is covered
 * by TH-5. reservation_fallback_* in any thread, async-signal-safe and reentrant. Failures are
 * counted as dropped events.
 */
#ifndef MTRACE_COLLECTOR_RESERVATION_H
#define MTRACE_COLLECTOR_RESERVATION_H

#include "collector/log/segment.h"
#include "collector/os/real.h"
#include "collector/thread/thread.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RESERVATION_MAX_WORDS = 6, /* of an event */
    RESERVATION_PREFETCH_WORDS = 24,
};

MTRACE_COLD bool reservation_make_slow(struct thread *thread, uint64_t *ticks, uint64_t since);

/* LF-1: release pairs with the reader's acquire of committed_bytes. */
static inline void reservation_commit(struct thread *thread, uint64_t *cursor)
{
    const unsigned char *payload = segment_payload(thread->segment);

    thread->cursor = cursor;
    atomic_store_explicit(&thread->segment->committed_bytes,
                          (uint32_t)((const unsigned char *)cursor - payload),
                          memory_order_release);
}

/* Reserves space for one event; *ticks may become later. since: when the event began, or
 * SEGMENT_FROM_NOW. */
static inline bool reservation_make(struct thread *thread, uint64_t *ticks, uint64_t since)
{
    if (mtrace_unlikely(thread->cursor > thread->limit || !thread->segment
                        || *ticks < thread->last_ticks || *ticks >= thread->slow_ticks)
        && !reservation_make_slow(thread, ticks, since))
        return false;
    thread->last_ticks = *ticks;
    return true;
}

/* Reserves RESERVATION_MAX_WORDS words and writes the first two, which contain the time. NULL: no
 * space, which was counted. */
static inline uint64_t *reservation_begin(struct thread *thread, uint64_t *ticks, uint64_t word0,
                                          uint64_t word1)
{
    uint64_t *out;
    uint64_t delta;

    if (!reservation_make(thread, ticks, SEGMENT_FROM_NOW))
        return NULL;
    out = thread->cursor;
    /* The line after next: a recycled segment is in the recorder's cache, not in this one. */
    __builtin_prefetch(out + RESERVATION_PREFETCH_WORDS, 1);
    delta = *ticks - thread->base_ticks;
    out[0] = word0 | (delta & 0xffffff) << 8;
    out[1] = word1 | (delta >> 24) << 48;
    return out;
}

/* ---- the words of an event ---- */

/* An event without its time. words[0] and words[1] get it when the event is written. */
struct event_builder {
    uint64_t words[RESERVATION_MAX_WORDS];
    unsigned n_words;
};

static inline uint64_t event_builder_address(const void *block)
{
    return (uintptr_t)block & (((uint64_t)1 << LOG_ADDRESS_BITS) - 1);
}

/* Written by record_init. */
extern MTRACE_HIDDEN bool g_event_builder_has_chunk_headers;

struct event_builder_usable {
    size_t size_bytes; /* 0 = unknown */
    unsigned flags;    /* LOG_CHUNK_* */
};

/* glibc stores the size of a chunk in the word before the block. Its low bits: 1 the previous chunk
 * is in use, 2 the chunk is a mapping of its own, 4 it is not in the main arena. The size includes
 * that word; a mapped chunk has one more. */
static inline struct event_builder_usable event_builder_usable_of(const void *block)
{
    struct event_builder_usable usable = {0, 0};
    size_t word;

    if (!g_event_builder_has_chunk_headers) {
        if (g_real.malloc_usable_size)
            usable.size_bytes = g_real.malloc_usable_size((void *)(uintptr_t)block);
        return usable;
    }
    word = ((const size_t *)block)[-1];
    usable.size_bytes = (word & ~(size_t)7) - (word & 2 ? 2 * sizeof(word) : sizeof(word));
    usable.flags =
        LOG_CHUNK_KNOWN | (word & 2 ? LOG_CHUNK_MMAPPED : 0) | (word & 4 ? LOG_CHUNK_NON_MAIN : 0);
    return usable;
}

/* The third word of an allocation. is_narrow: the values fit into that word. */
struct event_builder_extent {
    uint64_t size_bytes;
    uint64_t usable_bytes;
    uint64_t flags; /* enum log_call and LOG_CHUNK_* */
    uint64_t narrow_word;
    bool is_narrow;
};

/* known: the usable size, if the caller knows it; NULL: the allocator is asked. */
static inline struct event_builder_extent event_builder_extent_of(
    const void *block, size_t size_bytes, unsigned call, const struct event_builder_usable *known)
{
    struct event_builder_usable usable = known ? *known : event_builder_usable_of(block);
    uint64_t slack = usable.size_bytes - size_bytes;
    uint64_t flags = call | usable.flags;

    return (struct event_builder_extent){
        .size_bytes = size_bytes,
        .usable_bytes = usable.size_bytes,
        .flags = flags,
        .narrow_word =
            size_bytes | slack << LOG_SIZE_BITS | flags << (LOG_SIZE_BITS + LOG_SLACK_BITS),
        .is_narrow = (uint64_t)size_bytes >> LOG_SIZE_BITS == 0 && slack >> LOG_SLACK_BITS == 0,
    };
}

/* The caller puts the stack id into the high half of words[0]. */
void event_builder_alloc(struct event_builder *builder, const void *block,
                         const struct event_builder_extent *extent, size_t alignment);
void event_builder_realloc(struct event_builder *builder, const void *block, const void *old,
                           const struct event_builder_extent *extent, uint64_t took_ticks);

/* ---- the shared fallback segment ---- */

/* All callers without a usable thread state share it. Reserved space for one record. */
struct fallback_place {
    struct log_fallback_record *record;
    struct log_segment *segment;
};

bool reservation_fallback_reserve(struct fallback_place *ret);

/* Writes an event of at most six words, whose time bits are zero. */
void reservation_fallback_write(const struct fallback_place *place, const uint64_t *words,
                                unsigned n_words, uint64_t ticks, uint32_t thread, uint32_t group);

/* In a fork child: forgets the segment. */
void reservation_fallback_forget(void);

#endif
