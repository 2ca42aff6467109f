/* SPDX-License-Identifier: MIT */
#include "lib/logfile/definition_parts.h"

#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

void definition_parts_done(struct definition_parts *parts)
{
    free(parts->parts);
    free(parts->is_known);
}

bool definition_parts_is(const struct log_segment *segment)
{
    uint32_t kind = segment->kind;

    return kind == LOG_SEGMENT_DEFS || kind == LOG_SEGMENT_NODES;
}

/* ---- finding segments ------------------------------------------------------------------------ */

static uint32_t n_nodes(const struct live_log *live)
{
    return atomic_load_explicit(&live->file->n_nodes, memory_order_relaxed);
}

/* It was released before anything was written to it (DP-2). */
static bool is_punched_hole(const struct live_log *live, const struct definition_part *part)
{
    const struct log_segment *segment = live_log_segment(live, part->index);

    return part->packed_bytes == 0
           && (!live_log_is_used(live, segment) || segment->sequence != part->sequence);
}

static void forget_punched_hole(struct definition_parts *parts, const struct live_log *live)
{
    size_t n = 0;

    for (size_t i = 0; i < parts->n; i++) {
        if (is_punched_hole(live, &parts->parts[i]))
            parts->is_known[parts->parts[i].index] = false;
        else
            parts->parts[n++] = parts->parts[i];
    }
    parts->n = n;
}

/* All nodes have their segments, and one DEFS segment is not full. Segments without a packed
 * part do not count: one may be the unneeded one of DP-2, while the one in use has not been
 * found yet. */
static bool is_complete(const struct definition_parts *parts, const struct live_log *live)
{
    uint64_t n_slots = 0;
    bool has_room = false;

    for (size_t i = 0; i < parts->n; i++) {
        const struct log_segment *segment = live_log_segment(live, parts->parts[i].index);
        if (parts->parts[i].packed_bytes == 0)
            continue;
        if (parts->parts[i].kind == LOG_SEGMENT_NODES)
            n_slots += LOG_NODES_PER_SEGMENT;
        else if (atomic_load_explicit(&segment->reserved_bytes, memory_order_relaxed)
                 <= LOG_SEGMENT_PAYLOAD_BYTES)
            has_room = true; /* a failed reservation leaves a larger number (segment_reserve) */
    }
    return has_room && n_slots >= n_nodes(live);
}

static bool add(struct definition_parts *parts, const struct live_log *live, uint32_t index)
{
    struct definition_part *grown =
        dynamic_array_reserve(parts->parts, &parts->capacity, parts->n + 1, sizeof(*grown));
    struct log_segment segment;

    if (!grown)
        return false;
    parts->parts = grown;
    memcpy(&segment, live_log_segment(live, index), sizeof(segment));
    if (!definition_parts_is(&segment) || !live_log_is_used(live, &segment))
        return true;
    parts->parts[parts->n++] = (struct definition_part){.sequence = segment.sequence,
                                                        .index = index,
                                                        .kind = segment.kind,
                                                        .first_node = segment.first_node};
    parts->is_known[index] = true;
    return true;
}

bool definition_parts_find(struct definition_parts *parts, const struct live_log *live)
{
    bool *is_known;

    forget_punched_hole(parts, live);
    if (is_complete(parts, live))
        return true;
    is_known =
        dynamic_array_reserve(parts->is_known, &parts->n_known, live->n_mapped, sizeof(*is_known));
    if (!is_known)
        return false;
    parts->is_known = is_known;
    for (uint32_t i = live_log_next_used(live, 0); i < live->n_mapped;
         i = live_log_next_used(live, i + 1))
        if (!is_known[i] && definition_parts_is(live_log_segment(live, i)) && !add(parts, live, i))
            return false;
    return true;
}

/* ---- parts of a segment ---------------------------------------------------------------------- */

static uint32_t unit_of(const struct definition_part *part)
{
    return part->kind == LOG_SEGMENT_NODES ? (uint32_t)sizeof(struct log_node) : LOG_DEF_ALIGN;
}

/* Payload bytes that writers have reserved. */
static uint32_t reserved_bytes(const struct live_log *live, const struct definition_part *part)
{
    const struct log_segment *segment = live_log_segment(live, part->index);
    uint32_t n_bytes = LOG_SEGMENT_PAYLOAD_BYTES;
    uint32_t n = n_bytes;

    if (part->kind == LOG_SEGMENT_DEFS) {
        n = atomic_load_explicit(&segment->reserved_bytes, memory_order_acquire);
    } else {
        uint32_t end = n_nodes(live);
        uint64_t n_slots = end > part->first_node ? end - part->first_node : 0;
        if (n_slots < LOG_NODES_PER_SEGMENT)
            n = (uint32_t)(n_slots * sizeof(struct log_node));
    }
    return (n < n_bytes ? n : n_bytes) / unit_of(part) * unit_of(part);
}

/* Bytes of the definition at `at`; 0: none is committed there. */
static uint32_t committed_bytes(const struct definition_part *part, const uint8_t *payload,
                                uint32_t at, uint32_t n_bytes)
{
    const struct log_node *node = (const struct log_node *)(const void *)(payload + at);
    const struct log_def *def = (const struct log_def *)(const void *)(payload + at);
    uint32_t size;

    if (part->kind == LOG_SEGMENT_NODES)
        return atomic_load_explicit(&node->address, memory_order_acquire) ? sizeof(*node) : 0;
    if (atomic_load_explicit(&def->magic, memory_order_acquire) != LOG_DEF_MAGIC)
        return 0;
    size = (uint32_t)sizeof(*def) + def->text_bytes;
    size = (size + LOG_DEF_ALIGN - 1) / LOG_DEF_ALIGN * LOG_DEF_ALIGN;
    return size <= n_bytes - at ? size : 0;
}

/* The roots of the stack tree have unused slots. */
static bool is_root(const struct definition_part *part, uint32_t at)
{
    return part->kind == LOG_SEGMENT_NODES
           && part->first_node + at / sizeof(struct log_node) < LOG_NODE_FIRST;
}

bool definition_parts_have_grown(const struct definition_parts *parts, const struct live_log *live)
{
    for (size_t i = 0; i < parts->n; i++)
        if (parts->parts[i].kind == LOG_SEGMENT_DEFS
            && reserved_bytes(live, &parts->parts[i]) > parts->parts[i].looked_bytes)
            return true;
    return false;
}

bool definition_parts_next(const struct live_log *live, struct definition_part *part,
                           uint32_t *ret_first, uint32_t *ret_end)
{
    const uint8_t *payload = live_log_payload(live_log_segment(live, part->index));
    uint32_t n_bytes = reserved_bytes(live, part);
    uint32_t unit = unit_of(part);
    uint32_t looked_bytes = part->looked_bytes;
    uint32_t end = 0;
    uint32_t gap = UINT32_MAX; /* the first one; it may be at the start of the segment */
    uint32_t size;

    *ret_first = part->packed_bytes;
    for (uint32_t at = *ret_first; at + unit <= n_bytes; at += size ? size : unit) {
        size = committed_bytes(part, payload, at, n_bytes);
        if (size)
            end = at + size;
        else if (at < looked_bytes && !is_root(part, at))
            part->has_gaps = true;
        else if (gap == UINT32_MAX && !is_root(part, at))
            gap = at;
    }
    part->looked_bytes = n_bytes;
    if (end)
        part->packed_bytes = gap < end ? gap : end;
    *ret_end = end;
    return end > *ret_first;
}

bool definition_parts_last(const struct live_log *live, struct definition_part *part,
                           uint32_t *ret_first, uint32_t *ret_end)
{
    const uint64_t *words = live_log_payload(live_log_segment(live, part->index));
    uint32_t n_bytes = LOG_SEGMENT_PAYLOAD_BYTES;

    if (part->kind == LOG_SEGMENT_DEFS) /* there may also be nodes beyond the number handed out */
        n_bytes = reserved_bytes(live, part);
    *ret_first = part->has_gaps ? 0 : part->packed_bytes;
    while (n_bytes > *ret_first && words[n_bytes / 8 - 1] == 0)
        n_bytes -= 8;
    *ret_end = (n_bytes + LOG_DEF_ALIGN - 1) / LOG_DEF_ALIGN * LOG_DEF_ALIGN;
    if (*ret_end > LOG_SEGMENT_PAYLOAD_BYTES)
        *ret_end = LOG_SEGMENT_PAYLOAD_BYTES;
    part->packed_bytes = *ret_end;
    return *ret_end > *ret_first;
}

void definition_parts_copy(const struct live_log *live, const struct definition_part *part,
                           uint32_t first, uint32_t end, struct log_segment *ret_segment,
                           void *ret_payload)
{
    const struct log_segment *segment = live_log_segment(live, part->index);

    memcpy(ret_segment, segment, sizeof(*ret_segment));
    ret_segment->sequence = part->sequence;
    ret_segment->kind = part->kind;
    ret_segment->first_node = part->first_node;
    ret_segment->run_id = live->seen.run_id;
    memcpy(ret_payload, (const uint8_t *)live_log_payload(segment) + first, end - first);
}

const struct log_def *definition_parts_def(const void *payload, size_t n_bytes, size_t *at)
{
    const char *bytes = payload;

    for (; *at + sizeof(struct log_def) <= n_bytes; *at += LOG_DEF_ALIGN) {
        const struct log_def *def = (const struct log_def *)(const void *)(bytes + *at);
        if (def->magic == LOG_DEF_MAGIC && def->text_bytes <= n_bytes - *at - sizeof(*def)) {
            *at += (sizeof(*def) + def->text_bytes + LOG_DEF_ALIGN - 1) / LOG_DEF_ALIGN
                   * LOG_DEF_ALIGN;
            return def;
        }
    }
    return NULL;
}
