/* SPDX-License-Identifier: MIT */
#include "collector/events/in_flight.h"

#include "collector/log/segment.h"
#include "collector/os/sys.h"
#include "collector/thread/thread.h"

enum {
    NAP_NS = 1000000,
    MAX_NAPS = 1000,
    /* A time base and a group are committed before their event. */
    AHEAD_BYTES = 4 * sizeof(uint64_t),
    SIDE_BYTES = LOG_SEGMENT_PAYLOAD_BYTES / sizeof(struct log_fallback_record)
                 * sizeof(struct log_fallback_record),
};

/* State of a segment at the first look. */
struct sight {
    uint64_t sequence;
    uint64_t writer; /* EVENTS */
    uint64_t guard;  /* EVENTS: the writer's guard, if closed; 0: nothing is in flight */
    uint32_t bytes;  /* EVENTS: committed; FALLBACK: reserved */
};

/* The recursion guard of the segment's writer, if it is closed; else 0. */
static uint64_t guard_of(const struct log_segment *segment, uint64_t writer)
{
    struct thread seen;
    const size_t n_bytes = offsetof(struct thread, segment) + sizeof(seen.segment);

    if (writer == 0 || writer == (uintptr_t)&g_thread)
        return 0;
    /* The thread may have ended, and its memory may be unmapped or another thread's. */
    if (sys_copy_own(&seen, (uintptr_t)writer, n_bytes) != (long)n_bytes || seen.segment != segment)
        return 0;
    return seen.guard & THREAD_GUARD_CLOSED && seen.guard != THREAD_GUARD_CLOSED ? seen.guard : 0;
}

static uint32_t load(const _Atomic uint32_t *value)
{
    return atomic_load_explicit(value, memory_order_acquire);
}

/* Another thread may begin a new filling at the same time. The result of this look is not used
 * then. */
static uint32_t kind_of(const struct log_segment *segment)
{
    return __atomic_load_n(&segment->kind, __ATOMIC_RELAXED);
}

static uint64_t sequence_of(const struct log_segment *segment)
{
    return __atomic_load_n(&segment->sequence, __ATOMIC_RELAXED);
}

static struct sight look(const struct log_segment *segment)
{
    struct sight sight = {.sequence = sequence_of(segment)};

    if (kind_of(segment) == LOG_SEGMENT_FALLBACK) {
        uint32_t reserved = load(&segment->reserved_bytes);
        sight.bytes = reserved < SIDE_BYTES ? reserved : SIDE_BYTES;
        return sight;
    }
    sight.bytes =
        load(&segment->committed_bytes); /* before the guard: a writer inside has not committed */
    sight.writer = atomic_load_explicit(&segment->writer, memory_order_relaxed);
    sight.guard = guard_of(segment, sight.writer);
    return sight;
}

/* The event that was in flight at the first look is committed, or never will be. */
static bool is_finished(const struct log_segment *segment, const struct sight *first)
{
    if (load(&segment->state) != LOG_STATE_FILLING || sequence_of(segment) != first->sequence)
        return true;
    if (kind_of(segment) == LOG_SEGMENT_FALLBACK)
        return load(&segment->committed_bytes) >= first->bytes;
    if (first->guard == 0
        || atomic_load_explicit(&segment->writer, memory_order_relaxed) != first->writer)
        return true;
    return guard_of(segment, first->writer) != first->guard
           || load(&segment->committed_bytes) > first->bytes + AHEAD_BYTES;
}

struct naps {
    in_flight_nap *nap;
    void *user;
    unsigned n;
    bool is_over; /* the log is gone */
};

static void take_nap(struct naps *naps)
{
    naps->is_over = !naps->nap(naps->user, NAP_NS);
    naps->n++;
}

static bool wait_for(const struct log_segment *segment, struct naps *naps)
{
    const struct sight first = look(segment);

    while (!is_finished(segment, &first)) {
        if (naps->n >= MAX_NAPS || sys_is_forbidden())
            return false;
        take_nap(naps);
        if (naps->is_over)
            return false;
    }
    return true;
}

static bool has_events(const struct log_segment *segment)
{
    return load(&segment->state) == LOG_STATE_FILLING
           && (kind_of(segment) == LOG_SEGMENT_EVENTS || kind_of(segment) == LOG_SEGMENT_FALLBACK);
}

bool in_flight_wait(in_flight_nap *nap, void *user)
{
    const struct log_header *log = segment_log();
    uint32_t n_segments = log ? load(&log->n_segments) : 0;
    struct naps naps = {nap, user, 0, false};
    bool is_all = true;

    if (sys_barrier_all() < 0)
        take_nap(&naps); /* a store becomes visible in less time */
    for (uint32_t i = 0; !naps.is_over && i < n_segments; i++) {
        const struct log_segment *segment = segment_at(i);
        if (segment && has_events(segment) && !wait_for(segment, &naps))
            is_all = false;
    }
    return is_all && !naps.is_over;
}
