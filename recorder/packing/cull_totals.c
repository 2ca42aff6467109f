/* SPDX-License-Identifier: MIT */
#include "recorder/packing/cull_totals.h"

#include "recorder/packing/cull_clock.h"

#include <string.h>

void cull_totals_clear(struct cull_totals *totals)
{
    if (totals->n)
        memset(totals->slots, 0, sizeof(totals->slots));
    memset(totals->lives, 0, sizeof(totals->lives));
    memset(totals->lives_bytes, 0, sizeof(totals->lives_bytes));
    totals->n = 0;
}

static struct cull_total *find(struct cull_totals *totals, const struct cull_block *block)
{
    uint64_t key = ((uint64_t)block->node << 32 | block->free_node) ^ (uint64_t)block->group << 40
                   ^ block->size * 0xff51afd7ed558ccdu;
    uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 52);

    for (; totals->slots[slot]; slot = (slot + 1) & (CULL_TOTALS_SLOTS - 1)) {
        struct cull_total *total = &totals->totals[totals->slots[slot] - 1];
        if (total->node == block->node && total->free_node == block->free_node
            && total->group == block->group && total->size == block->size)
            return total;
    }
    totals->totals[totals->n] = (struct cull_total){.node = block->node,
                                                    .free_node = block->free_node,
                                                    .group = block->group,
                                                    .size = block->size,
                                                    .first_ticks = block->born_ticks,
                                                    .last_ticks = block->born_ticks};
    totals->slots[slot] = (uint16_t)++totals->n;
    return &totals->totals[totals->n - 1];
}

static uint64_t ns_of(const struct cull_totals *totals, uint64_t ticks)
{
    return (uint64_t)cull_clock_whole((double)(int64_t)ticks * totals->ns_per_tick);
}

void cull_totals_add(struct cull_totals *totals, const struct cull_block *block)
{
    struct cull_total *total = find(totals, block);
    uint64_t lived_ticks = block->ended_ticks - block->born_ticks;
    unsigned class = lifetime_class_of(ns_of(totals, lived_ticks));

    total->n++;
    total->n_temporary += block->is_temporary;
    total->lived_ticks += lived_ticks;
    if (block->born_ticks < total->first_ticks)
        total->first_ticks = block->born_ticks;
    if (block->born_ticks > total->last_ticks)
        total->last_ticks = block->born_ticks;
    totals->lives[class]++;
    totals->lives_bytes[class] += block->size & ((1ull << LOG_SIZE_BITS) - 1);
}

static uint64_t *put_total(const struct cull_totals *totals, const struct cull_total *total,
                           const uint64_t time[2], uint64_t now_ticks, uint64_t *out)
{
    uint64_t first = (uint32_t)ns_of(totals, now_ticks - total->first_ticks);
    uint64_t last = (uint32_t)ns_of(totals, now_ticks - total->last_ticks);
    uint64_t lived_ns = ns_of(totals, total->lived_ticks);

    out[0] = LOG_CULLED | time[0] | (uint64_t)total->node << 32;
    out[1] = time[1] | log_group_code(total->group) | (uint64_t)total->n_temporary << 32;
    out[3] = total->size;
    if (total->n == 1) {
        out[2] = LOG_CULLED_ONE_WORDS | (uint64_t)total->n << 16 | (uint64_t)total->free_node << 32;
        out[4] = first | lived_ns << 32;
        return out + LOG_CULLED_ONE_WORDS;
    }
    out[2] = LOG_CULLED_WORDS | (uint64_t)total->n << 16 | (uint64_t)total->free_node << 32;
    out[4] = first | last << 32;
    out[5] = lived_ns;
    return out + LOG_CULLED_WORDS;
}

static uint64_t *put_lives(const struct cull_totals *totals, unsigned class, const uint64_t time[2],
                           uint64_t *out)
{
    out[0] = LOG_CULLED_LIVES | time[0] | (uint64_t) class << 32;
    out[1] = time[1] | totals->lives[class];
    out[2] = totals->lives_bytes[class];
    return out + 3;
}

uint64_t *cull_totals_put(const struct cull_totals *totals, const uint64_t time[2],
                          uint64_t now_ticks, uint64_t *out, const uint64_t *end)
{
    for (uint32_t i = 0; i < totals->n; i++) {
        if (end - out < LOG_CULLED_WORDS)
            return NULL;
        out = put_total(totals, &totals->totals[i], time, now_ticks, out);
    }
    for (unsigned class = 0; class < LIFETIME_CLASSES; class ++) {
        if (totals->lives[class] == 0)
            continue;
        if (end - out < 3)
            return NULL;
        out = put_lives(totals, class, time, out);
    }
    return out;
}

static uint64_t n_events_of(const uint64_t *event)
{
    switch (event[0] & 255) {
    case LOG_CULLED:
        return 2 * (event[2] >> 16 & 0xffff);
    case LOG_CULLED_LIVES:
    case LOG_CULLED_BIRTHS:
        return 0;
    default:
        return !log_event_is_bookkeeping(event[0] & 255);
    }
}

uint64_t cull_totals_count_events(const uint64_t *words, size_t n_words)
{
    uint64_t n_events = 0;
    size_t n;

    for (size_t i = 0; i < n_words; i += n) {
        n = log_event_words(words[i] & 255);
        if (n == 0 && n_words - i > 2)
            n = words[i + 2] & 0xffff;
        if (n == 0 || n > n_words - i)
            break;
        n_events += n_events_of(words + i);
    }
    return n_events;
}
