/* SPDX-License-Identifier: MIT */
/*
 * reservation: space for the next event of a thread in its segment, and the time of the event.
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
 *
 * Threads: inside the recursion guard (thread.h). An abandoned reservation is covered by TH-5.
 * Failures are counted as dropped events.
 */
#ifndef MTRACE_COLLECTOR_RESERVATION_H
#define MTRACE_COLLECTOR_RESERVATION_H

#include "collector/log/segment.h"
#include "collector/thread/thread.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    RESERVATION_MOST_WORDS = 6, /* of an event */
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
                        || *ticks < thread->last_ticks
                        || (*ticks - thread->base_ticks) >> LOG_TIME_BITS)
        && !reservation_make_slow(thread, ticks, since))
        return false;
    thread->last_ticks = *ticks;
    return true;
}

/* Reserves RESERVATION_MOST_WORDS words and writes the first two, which contain the time. NULL: no
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

#endif
