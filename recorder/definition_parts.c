/* SPDX-License-Identifier: MIT */
#include "recorder/definition_parts.h"

#include <stdlib.h>

void definition_parts_done(struct definition_parts *parts)
{
    free(parts->indexes);
}

bool definition_parts_is(const struct log_segment *segment)
{
    return segment->kind == LOG_SEGMENT_DEFS || segment->kind == LOG_SEGMENT_NODES;
}

/* ---- finding segments ------------------------------------------------------------------------ */

static uint32_t n_nodes(const struct live_log *live)
{
    return atomic_load_explicit(&live->file->n_nodes, memory_order_relaxed);
}

/* All nodes have their segments, and of DEFS there is one that is not full. */
static bool is_complete(const struct definition_parts *parts, const struct live_log *live)
{
    uint64_t n_slots = 0;
    bool has_room = false;

    for (size_t i = 0; i < parts->n; i++) {
        const struct log_segment *segment = live_log_segment(live, parts->indexes[i]);
        if (segment->kind == LOG_SEGMENT_NODES)
            n_slots += LOG_NODES_PER_SEGMENT;
        else if (atomic_load_explicit(&segment->reserved_bytes, memory_order_relaxed)
                 <= LOG_SEGMENT_PAYLOAD_BYTES)
            has_room = true; /* a reservation that fails leaves more (segment_reserve) */
    }
    return has_room && n_slots >= n_nodes(live);
}

static bool add(struct definition_parts *parts, uint32_t index)
{
    if (parts->n == parts->capacity) {
        size_t capacity = parts->capacity ? 2 * parts->capacity : 16;
        uint32_t *indexes = realloc(parts->indexes, capacity * sizeof(*indexes));
        if (!indexes)
            return false;
        parts->indexes = indexes;
        parts->capacity = capacity;
    }
    parts->indexes[parts->n++] = index;
    return true;
}

bool definition_parts_find(struct definition_parts *parts, const struct live_log *live)
{
    if (is_complete(parts, live))
        return true;
    parts->n = 0;
    for (uint32_t i = live_log_next_used(live, 0); i < live->n_mapped;
         i = live_log_next_used(live, i + 1))
        if (definition_parts_is(live_log_segment(live, i)) && !add(parts, i))
            return false;
    return true;
}

/* ---- parts of a segment ---------------------------------------------------------------------- */

static uint32_t unit_of(const struct log_segment *segment)
{
    return segment->kind == LOG_SEGMENT_NODES ? (uint32_t)sizeof(struct log_node) : LOG_DEF_ALIGN;
}

/* Payload bytes that writers have asked for. */
static uint32_t reserved_bytes(const struct live_log *live, const struct log_segment *segment)
{
    uint32_t n_bytes = live_log_readable_bytes(segment);
    uint32_t end = n_nodes(live);
    uint64_t n_slots = end > segment->first_node ? end - segment->first_node : 0;

    if (segment->kind == LOG_SEGMENT_NODES && n_slots * sizeof(struct log_node) < n_bytes)
        n_bytes = (uint32_t)(n_slots * sizeof(struct log_node));
    return n_bytes;
}

/* Bytes of the definition at `at`; 0: none is committed there. */
static uint32_t committed_bytes(const struct log_segment *segment, uint32_t at, uint32_t n_bytes)
{
    const uint8_t *bytes = (const uint8_t *)live_log_payload(segment) + at;
    const struct log_node *node = (const struct log_node *)(const void *)bytes;
    const struct log_def *def = (const struct log_def *)(const void *)bytes;
    uint32_t size;

    if (segment->kind == LOG_SEGMENT_NODES)
        return atomic_load_explicit(&node->address, memory_order_acquire) ? sizeof(*node) : 0;
    if (atomic_load_explicit(&def->magic, memory_order_acquire) != LOG_DEF_MAGIC)
        return 0;
    size = (uint32_t)sizeof(*def) + def->text_bytes;
    size = (size + LOG_DEF_ALIGN - 1) / LOG_DEF_ALIGN * LOG_DEF_ALIGN;
    return size <= n_bytes - at ? size : 0;
}

/* The roots of the stack tree have slots that mean nothing. */
static bool is_root(const struct log_segment *segment, uint32_t at)
{
    return segment->kind == LOG_SEGMENT_NODES
           && segment->first_node + at / sizeof(struct log_node) < LOG_NODE_FIRST;
}

/* What the program overwrote is begun anew. */
static void check_marks(struct log_segment *segment, uint32_t n_bytes)
{
    if (segment->packed_bytes > n_bytes || segment->packed_bytes % 8 != 0)
        segment->packed_bytes = segment->looked_bytes = 0;
}

bool definition_parts_next(const struct live_log *live, struct log_segment *segment,
                           uint32_t *ret_first, uint32_t *ret_end)
{
    uint32_t n_bytes = reserved_bytes(live, segment);
    uint32_t unit = unit_of(segment);
    uint32_t looked_bytes = segment->looked_bytes;
    uint32_t end = 0;
    uint32_t gap = 0;
    uint32_t size;

    check_marks(segment, n_bytes);
    *ret_first = segment->packed_bytes;
    for (uint32_t at = *ret_first; at + unit <= n_bytes; at += size ? size : unit) {
        size = committed_bytes(segment, at, n_bytes);
        if (size)
            end = at + size;
        else if (at < looked_bytes && !is_root(segment, at))
            segment->has_gaps = 1;
        else if (!gap && !is_root(segment, at))
            gap = at;
    }
    segment->looked_bytes = n_bytes;
    if (end)
        segment->packed_bytes = gap && gap < end ? gap : end;
    *ret_end = end;
    return end > *ret_first;
}

bool definition_parts_last(struct log_segment *segment, uint32_t *ret_first, uint32_t *ret_end)
{
    uint32_t n_bytes = live_log_readable_bytes(segment);
    const uint64_t *words = live_log_payload(segment);

    check_marks(segment, n_bytes);
    *ret_first = segment->has_gaps ? 0 : segment->packed_bytes;
    while (n_bytes > *ret_first && words[n_bytes / 8 - 1] == 0)
        n_bytes -= 8;
    *ret_end = (n_bytes + LOG_DEF_ALIGN - 1) / LOG_DEF_ALIGN * LOG_DEF_ALIGN;
    if (*ret_end > LOG_SEGMENT_PAYLOAD_BYTES)
        *ret_end = LOG_SEGMENT_PAYLOAD_BYTES;
    segment->packed_bytes = *ret_end;
    return *ret_end > *ret_first;
}
