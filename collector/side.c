/* SPDX-License-Identifier: MIT */
#include "collector/side.h"

#include "collector/segment.h"

enum {
    RECORD_BYTES = sizeof(struct log_side_record),
    FULL_BYTES = LOG_SEGMENT_PAYLOAD_BYTES / RECORD_BYTES * RECORD_BYTES,
};

static _Atomic(struct log_segment *) g_current;

void side_forget(void)
{
    atomic_store_explicit(&g_current, NULL, memory_order_relaxed);
}

static struct log_segment *next_segment(struct log_segment *full)
{
    struct log_segment *fresh = segment_take(LOG_SEGMENT_SIDE);

    if (!fresh)
        return NULL;
    if (!atomic_compare_exchange_strong_explicit(&g_current, &full, fresh, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        segment_give_back(fresh);
        return full;
    }
    return fresh;
}

static struct log_side_record *reserve(struct log_segment **ret_segment)
{
    struct log_segment *segment = atomic_load_explicit(&g_current, memory_order_acquire);

    for (unsigned attempt = 0; attempt < 8; attempt++) {
        if (segment) {
            uint32_t at = atomic_fetch_add_explicit(&segment->reserved_bytes, RECORD_BYTES,
                                                    memory_order_relaxed);
            *ret_segment = segment;
            if (at + RECORD_BYTES <= FULL_BYTES)
                return (struct log_side_record *)(void *)(segment_payload(segment) + at);
        }
        segment = next_segment(segment);
        if (!segment)
            return NULL;
    }
    return NULL;
}

bool side_write(const uint64_t *words, unsigned n_words, uint64_t ticks, uint32_t thread)
{
    struct log_segment *segment;
    struct log_side_record *record = reserve(&segment);
    uint32_t done_bytes;

    if (!record)
        return false;
    for (unsigned i = 0; i < n_words; i++)
        record->words[i] = words[i];
    record->ticks = ticks;
    record->thread = thread;
    atomic_store_explicit(&record->valid, LOG_SIDE_VALID, memory_order_release);
    /* In a SIDE segment committed_bytes counts whole records, wherever they are (SD-2). */
    done_bytes =
        atomic_fetch_add_explicit(&segment->committed_bytes, RECORD_BYTES, memory_order_acq_rel);
    if (done_bytes + RECORD_BYTES == FULL_BYTES)
        segment_seal(segment);
    return true;
}
