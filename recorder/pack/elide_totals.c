/* SPDX-License-Identifier: MIT */
#include "recorder/pack/elide_totals.h"

#include "lib/totals/report_classes.h"
#include "recorder/pack/elide_clock.h"

#include <string.h>

void elide_totals_clear(struct elide_totals *totals)
{
    if (totals->n)
        memset(totals->slots, 0, sizeof(totals->slots));
    memset(totals->lives, 0, sizeof(totals->lives));
    memset(totals->lives_bytes, 0, sizeof(totals->lives_bytes));
    memset(totals->classes, 0, sizeof(totals->classes));
    totals->n = 0;
}

static uint64_t bytes_of(uint64_t size)
{
    return size & ((1ull << LOG_SIZE_BITS) - 1);
}

static uint64_t slack_of(uint64_t size)
{
    return size >> LOG_SIZE_BITS;
}

static bool may_mix(uint64_t size)
{
    return bytes_of(size) < LOG_ELIDED_MIXED_BYTES;
}

static struct elide_total *find(struct elide_totals *totals, const struct elide_block *block)
{
    uint64_t own_size = may_mix(block->size) ? 0 : block->size;
    uint64_t key = ((uint64_t)block->node << 32 | block->free_node) ^ (uint64_t)block->group << 40
                   ^ own_size * 0xff51afd7ed558ccdu;
    uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 52);

    for (; totals->slots[slot]; slot = (slot + 1) & (ELIDE_TOTALS_SLOTS - 1)) {
        struct elide_total *total = &totals->totals[totals->slots[slot] - 1];
        if (total->node == block->node && total->free_node == block->free_node
            && total->group == block->group
            && (total->size == block->size || (may_mix(total->size) && may_mix(block->size))))
            return total;
    }
    totals->totals[totals->n] = (struct elide_total){.node = block->node,
                                                     .free_node = block->free_node,
                                                     .group = block->group,
                                                     .size = block->size,
                                                     .min_bytes = UINT64_MAX,
                                                     .first_ticks = block->allocated_ticks,
                                                     .last_ticks = block->allocated_ticks};
    totals->slots[slot] = (uint16_t)++totals->n;
    return &totals->totals[totals->n - 1];
}

static uint64_t ns_of(const struct elide_totals *totals, uint64_t ticks)
{
    return (uint64_t)elide_clock_whole((double)(int64_t)ticks * totals->ns_per_tick);
}

static void add_sizes(struct elide_total *total, const struct elide_block *block)
{
    uint64_t bytes = bytes_of(block->size);

    total->is_mixed |= total->size != block->size;
    total->bytes += bytes;
    total->slack_bytes += slack_of(block->size);
    total->temporary_bytes += block->is_temporary ? bytes : 0;
    if (bytes < total->min_bytes)
        total->min_bytes = bytes;
    if (bytes >= total->largest_bytes) {
        total->largest_bytes = bytes;
        total->largest_ticks = block->allocated_ticks;
    }
}

static void add_class(struct elide_totals *totals, const struct elide_block *block)
{
    struct elide_class *class = &totals->classes[size_class_of(bytes_of(block->size))];

    class->n++;
    class->n_temporary += block->is_temporary;
    class->bytes += bytes_of(block->size);
    class->slack_bytes += slack_of(block->size);
}

void elide_totals_add(struct elide_totals *totals, const struct elide_block *block)
{
    struct elide_total *total = find(totals, block);
    uint64_t lived_ticks = block->ended_ticks - block->allocated_ticks;
    unsigned class = lifetime_class_of(ns_of(totals, lived_ticks));

    total->n++;
    total->n_temporary += block->is_temporary;
    total->lived_ticks += lived_ticks;
    add_sizes(total, block);
    if (may_mix(block->size))
        add_class(totals, block);
    if (block->allocated_ticks < total->first_ticks)
        total->first_ticks = block->allocated_ticks;
    if (block->allocated_ticks > total->last_ticks)
        total->last_ticks = block->allocated_ticks;
    totals->lives[class]++;
    totals->lives_bytes[class] += bytes_of(block->size);
}

/* Writes words 3 and 6 to the end; the caller has written the others. */
static uint64_t *put_mixed(const struct elide_total *total, uint64_t largest, uint64_t *out)
{
    out[0] += LOG_ELIDED_MIXED - LOG_ELIDED;
    out[2] += LOG_ELIDED_MIXED_WORDS - LOG_ELIDED_WORDS;
    out[3] = total->bytes | total->slack_bytes << 32;
    out[6] = total->min_bytes | total->largest_bytes << 32;
    out[7] = total->temporary_bytes | largest << 32;
    return out + LOG_ELIDED_MIXED_WORDS;
}

static uint64_t *put_total(const struct elide_totals *totals, const struct elide_total *total,
                           const uint64_t time[2], uint64_t now_ticks, uint64_t *out)
{
    uint64_t first = (uint32_t)ns_of(totals, now_ticks - total->first_ticks);
    uint64_t last = (uint32_t)ns_of(totals, now_ticks - total->last_ticks);
    uint64_t lived_ns = ns_of(totals, total->lived_ticks);

    out[0] = LOG_ELIDED | time[0] | (uint64_t)total->node << 32;
    out[1] = time[1] | log_group_code(total->group) | (uint64_t)total->n_temporary << 32;
    out[3] = total->size;
    if (total->n == 1) {
        out[2] = LOG_ELIDED_ONE_WORDS | (uint64_t)total->n << 16 | (uint64_t)total->free_node << 32;
        out[4] = first | lived_ns << 32;
        return out + LOG_ELIDED_ONE_WORDS;
    }
    out[2] = LOG_ELIDED_WORDS | (uint64_t)total->n << 16 | (uint64_t)total->free_node << 32;
    out[4] = first | last << 32;
    out[5] = lived_ns;
    return total->is_mixed
               ? put_mixed(total, (uint32_t)ns_of(totals, now_ticks - total->largest_ticks), out)
               : out + LOG_ELIDED_WORDS;
}

/* Removes uniform totals from the classes: a LOG_ELIDED implies its class. */
static void leave_in_mixed(struct elide_totals *totals)
{
    for (uint32_t i = 0; i < totals->n; i++) {
        const struct elide_total *total = &totals->totals[i];
        if (total->is_mixed || !may_mix(total->size))
            continue;
        struct elide_class *class = &totals->classes[size_class_of(bytes_of(total->size))];
        class->n -= total->n;
        class->n_temporary -= total->n_temporary;
        class->bytes -= total->bytes;
        class->slack_bytes -= total->slack_bytes;
    }
}

/* NULL: does not fit. */
static uint64_t *put_classes(const struct elide_totals *totals, const uint64_t time[2],
                             uint64_t *out, const uint64_t *end)
{
    const size_t n_words = log_event_words(LOG_ELIDED_SIZES);

    for (unsigned i = 0; i < ELIDE_TOTALS_CLASSES; i++) {
        const struct elide_class *class = &totals->classes[i];
        if (class->n == 0)
            continue;
        if ((size_t)(end - out) < n_words)
            return NULL;
        out[0] = LOG_ELIDED_SIZES | time[0] | (uint64_t)i << 32;
        out[1] = time[1] | class->n | (uint64_t) class->n_temporary << 24;
        out[2] = class->bytes;
        out[3] = class->slack_bytes;
        out += n_words;
    }
    return out;
}

static uint64_t *put_lives(const struct elide_totals *totals, unsigned class,
                           const uint64_t time[2], uint64_t *out)
{
    out[0] = LOG_ELIDED_LIVES | time[0] | (uint64_t) class << 32;
    out[1] = time[1] | totals->lives[class];
    out[2] = totals->lives_bytes[class];
    return out + 3;
}

/* NULL: does not fit. */
static uint64_t *put_all_lives(const struct elide_totals *totals, const uint64_t time[2],
                               uint64_t *out, const uint64_t *end)
{
    for (unsigned class = 0; class < LIFETIME_CLASSES; class ++) {
        if (totals->lives[class] == 0)
            continue;
        if (end - out < 3)
            return NULL;
        out = put_lives(totals, class, time, out);
    }
    return out;
}

uint64_t *elide_totals_put(struct elide_totals *totals, const uint64_t time[2], uint64_t now_ticks,
                           uint64_t *out, const uint64_t *end)
{
    for (uint32_t i = 0; out && i < totals->n; i++)
        out = end - out < LOG_ELIDED_MIXED_WORDS
                  ? NULL
                  : put_total(totals, &totals->totals[i], time, now_ticks, out);
    leave_in_mixed(totals);
    if (out)
        out = put_classes(totals, time, out, end);
    if (out)
        out = put_all_lives(totals, time, out, end);
    elide_totals_clear(totals);
    return out;
}

uint64_t elide_totals_events_of(const uint64_t *event)
{
    switch (event[0] & 255) {
    case LOG_ELIDED:
    case LOG_ELIDED_MIXED:
        return 2 * (event[2] >> 16 & 0xffff);
    case LOG_ELIDED_SIZES:
    case LOG_ELIDED_LIVES:
    case LOG_ELIDED_ALLOCATIONS:
        return 0;
    default:
        return !log_event_is_bookkeeping(event[0] & 255);
    }
}

uint64_t elide_totals_count_events(const uint64_t *words, size_t n_words)
{
    uint64_t n_events = 0;
    size_t n;

    for (size_t i = 0; i < n_words; i += n) {
        n = log_event_words(words[i] & 255);
        if (n == 0 && n_words - i > 2)
            n = words[i + 2] & 0xffff;
        if (n == 0 || n > n_words - i)
            break;
        n_events += elide_totals_events_of(words + i);
    }
    return n_events;
}
