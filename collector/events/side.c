/* SPDX-License-Identifier: MIT */
#include "collector/events/side.h"

#include "collector/log/segment.h"

enum {
    RECORD_BYTES = sizeof(struct log_side_record),
    FULL_BYTES = LOG_SEGMENT_PAYLOAD_BYTES / RECORD_BYTES * RECORD_BYTES,
};

static struct segment_shared g_shared = {.kind = LOG_SEGMENT_SIDE};

void side_forget(void)
{
    atomic_store_explicit(&g_shared.current, NULL, memory_order_relaxed);
}

/* log_side_record.words */
static void write_group(struct log_side_record *record, uint32_t group)
{
    uint64_t code = log_group_code(group);

    record->words[0] |= (code & 0xffffff) << 8;
    record->words[1] |= code >> 24 << LOG_ADDRESS_BITS;
}

bool side_reserve(struct side_place *ret)
{
    ret->record = segment_reserve(&g_shared, RECORD_BYTES, &ret->segment);
    atomic_signal_fence(memory_order_seq_cst); /* SD-3 */
    return ret->record != NULL;
}

void side_write(const struct side_place *place, const uint64_t *words, unsigned n_words,
                uint64_t ticks, uint32_t thread, uint32_t group)
{
    struct log_side_record *record = place->record;
    uint32_t done_bytes;

    for (unsigned i = 0; i < n_words; i++)
        record->words[i] = words[i];
    write_group(record, group);
    record->ticks = ticks;
    record->thread = thread;
    atomic_store_explicit(&record->valid, LOG_SIDE_VALID, memory_order_release);
    /* In a SIDE segment committed_bytes counts whole records, wherever they are (SD-2). */
    done_bytes = atomic_fetch_add_explicit(&place->segment->committed_bytes, RECORD_BYTES,
                                           memory_order_acq_rel);
    if (done_bytes + RECORD_BYTES == FULL_BYTES)
        segment_seal(place->segment);
}
