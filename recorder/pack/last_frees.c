/* SPDX-License-Identifier: MIT */
#include "recorder/pack/last_frees.h"

#include "lib/base/dynamic_array.h"
#include "recorder/pack/sync_points.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACES_LOG2 = 16,
    PLACES = 1 << PLACES_LOG2,
    ANY_THREAD = 0, /* fallback records of an unknown thread; equals no requested thread */
};

struct place {
    uint64_t ticks;        /* the latest free */
    uint64_t others_ticks; /* the latest one by a thread other than `thread` */
    uint32_t thread;
    uint32_t reserved;
};

/* How far a filled segment was read. */
struct mark {
    uint64_t sequence;
    uint64_t base_ticks;
    uint64_t last_ticks; /* of the last event read */
    uint32_t thread;
    uint32_t n_words;
};

struct last_frees {
    struct place places[PLACES];
    struct sync_points sync_points;
    struct mark *marks; /* by segment index */
    size_t n_marks;
    uint64_t words[LOG_SEGMENT_PAYLOAD_BYTES / 8]; /* a copy: the program may change the original */
};

struct last_frees *last_frees_new(void)
{
    return calloc(1, sizeof(struct last_frees));
}

void last_frees_free(struct last_frees *frees)
{
    if (frees) {
        free(frees->marks);
        sync_points_done(&frees->sync_points);
    }
    free(frees);
}

struct sync_points *last_frees_sync_points(struct last_frees *frees)
{
    return &frees->sync_points;
}

static size_t place_of(uint64_t address)
{
    return (size_t)((address >> 4) * 0x9e3779b97f4a7c15u >> (64 - PLACES_LOG2));
}

static void learn(struct last_frees *frees, uint64_t address, uint32_t thread, uint64_t ticks)
{
    struct place *place = &frees->places[place_of(address)];

    if (place->thread == thread && thread != ANY_THREAD) {
        if (ticks > place->ticks)
            place->ticks = ticks;
    } else if (ticks >= place->ticks) {
        place->others_ticks = place->ticks;
        place->ticks = ticks;
        place->thread = thread;
    } else if (ticks > place->others_ticks) {
        place->others_ticks = ticks;
    }
}

uint64_t last_frees_by_others(const struct last_frees *frees, uint64_t address, uint32_t thread)
{
    const struct place *place = &frees->places[place_of(address)];

    return place->thread == thread && thread != ANY_THREAD ? place->others_ticks : place->ticks;
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t address_of(uint64_t word)
{
    return word & ((1ull << LOG_ADDRESS_BITS) - 1);
}

static uint64_t time_of(const uint64_t *words)
{
    return (words[0] >> 8 & 0xffffff) | words[1] >> LOG_ADDRESS_BITS << 24;
}

/* False without memory. */
static bool learn_event(struct last_frees *frees, const uint64_t *words, uint64_t ticks,
                        uint32_t thread)
{
    switch (words[0] & 255) {
    case LOG_FREE:
    case LOG_MOVE:
        learn(frees, address_of(words[1]), thread, ticks);
        break;
    case LOG_REALLOC:
    case LOG_REALLOC_WIDE:
        /* a realloc's time is later than the old block's end, which is harmless */
        learn(frees, address_of(words[3]), thread, ticks);
        break;
    default:
        return !sync_points_is_of(words[0] & 255) || sync_points_add(&frees->sync_points, ticks);
    }
    return true;
}

/* Continues from the mark to n_words. */
static bool read_on(struct last_frees *frees, struct mark *mark, const uint64_t *words,
                    uint32_t n_words)
{
    while (mark->n_words < n_words) {
        const uint64_t *event = words + mark->n_words;
        uint32_t n_left = n_words - mark->n_words;
        uint32_t n = log_event_words(event[0] & 255);
        if (n == 0 && n_left > 2)
            n = event[2] & 0xffff;
        if (n == 0 || n > n_left)
            return false;
        if ((event[0] & 255) == LOG_TIME_BASE)
            mark->base_ticks = event[1];
        else if ((event[0] & 255) == LOG_THREAD)
            mark->thread = (uint32_t)(event[0] >> 32);
        else if (n > 1)
            mark->last_ticks = mark->base_ticks + time_of(event);
        if (n > 1 && !learn_event(frees, event, mark->last_ticks, mark->thread))
            return false;
        mark->n_words += n;
    }
    return true;
}

/* Slots become valid in any order, so all are read each time. There are few such segments. */
static bool read_fallback(struct last_frees *frees, const struct log_fallback_record *records,
                          size_t n, uint64_t *ret_last_ticks)
{
    *ret_last_ticks = 0;
    for (size_t i = 0; i < n; i++) {
        if (atomic_load_explicit(&records[i].valid, memory_order_acquire) != LOG_FALLBACK_VALID)
            continue;
        if (!learn_event(frees, records[i].words, records[i].ticks, records[i].thread))
            return false;
        if (records[i].ticks > *ret_last_ticks)
            *ret_last_ticks = records[i].ticks;
    }
    return true;
}

bool last_frees_read_payload(struct last_frees *frees, const struct log_segment *segment,
                             const void *payload, uint32_t n_bytes, uint64_t *ret_last_ticks)
{
    struct mark mark = {.base_ticks = segment->base_ticks, .thread = segment->thread};
    bool is_sound;

    if (segment->kind == LOG_SEGMENT_FALLBACK)
        return read_fallback(frees, payload, n_bytes / sizeof(struct log_fallback_record),
                             ret_last_ticks);
    is_sound = read_on(frees, &mark, payload, n_bytes / sizeof(uint64_t));
    *ret_last_ticks = mark.last_ticks;
    return is_sound;
}

/* Copies the committed words after the mark. */
static bool read_gain(struct last_frees *frees, const struct log_segment *segment,
                      struct mark *mark)
{
    uint32_t n_words = live_log_readable_bytes(segment) / (uint32_t)sizeof(uint64_t);
    const uint64_t *words = live_log_payload(segment);
    uint64_t sequence = segment->sequence;

    if (mark->sequence != sequence)
        *mark = (struct mark){
            .sequence = sequence, .base_ticks = segment->base_ticks, .thread = segment->thread};
    if (mark->n_words == 0)
        mark->thread = segment->thread; /* set with the first event */
    if (n_words <= mark->n_words)
        return true;
    memcpy(frees->words + mark->n_words, words + mark->n_words,
           (n_words - mark->n_words) * sizeof(*words));
    return read_on(frees, mark, frees->words, n_words);
}

/* Reads new words or records of a segment. */
static bool read_segment(struct last_frees *frees, const struct log_segment *segment,
                         struct mark *mark)
{
    uint64_t last_ticks;

    switch (segment->kind) {
    case LOG_SEGMENT_FALLBACK:
        return read_fallback(frees, live_log_payload(segment),
                             live_log_readable_bytes(segment) / sizeof(struct log_fallback_record),
                             &last_ticks);
    case LOG_SEGMENT_EVENTS:
        return read_gain(frees, segment, mark);
    default:
        return true;
    }
}

bool last_frees_read(struct last_frees *frees, const struct live_log *live)
{
    struct mark *marks =
        dynamic_array_reserve(frees->marks, &frees->n_marks, live->n_mapped, sizeof(*marks));

    if (!marks)
        return false;
    frees->marks = marks;
    for (uint32_t i = live_log_next_used(live, 0); i < live->n_mapped;
         i = live_log_next_used(live, i + 1))
        if (!read_segment(frees, live_log_segment(live, i), &marks[i]))
            return false;
    return true;
}
