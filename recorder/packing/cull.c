/* SPDX-License-Identifier: MIT */
#include "recorder/packing/cull.h"

#include "recorder/packing/last_frees.h"
#include "support/size_class.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS = LOG_SEGMENT_PAYLOAD_BYTES / 8,
    SLOTS = 8192,
    CULLED_WORDS = 5,
    PAIR_WORDS = 5, /* an allocation and a free */
};

/* A block of this segment that is still allocated. */
struct live_block {
    uint64_t address;
    uint64_t ticks;
    uint32_t thread;
    uint32_t group;
    uint32_t births; /* of the segment so far, it included */
    uint16_t word;   /* of its allocation, + 1; 0: no block of ours */
};

struct total {
    uint64_t n_blocks;
    uint64_t size_bytes;
    uint32_t node, free_node, thread, group;
    uint32_t kind; /* kind_of */
};

struct cull {
    uint64_t max_ns;
    uint64_t n_culled;
    const struct last_frees *others; /* of the call, NULL: one thread */
    uint64_t max_ticks;              /* of the call */
    uint64_t margin_ticks;
    uint64_t words[WORDS];
    bool is_culled[WORDS]; /* of the event that begins at this word */
    struct live_block live[SLOTS];
    uint16_t total_slots[SLOTS]; /* index + 1 into totals */
    struct total totals[WORDS / PAIR_WORDS + 1];
    uint32_t n_totals;
    uint32_t births; /* blocks that were made in the segment so far; a thread's follow each other */
};

struct cull *cull_new(uint64_t max_ns)
{
    struct cull *cull = calloc(1, sizeof(*cull));

    if (cull)
        cull->max_ns = max_ns;
    return cull;
}

void cull_free(struct cull *cull)
{
    free(cull);
}

uint64_t cull_count(const struct cull *cull)
{
    return cull ? cull->n_culled : 0;
}

static uint64_t address_of(uint64_t word)
{
    return word & ((1ull << LOG_ADDRESS_BITS) - 1);
}

static uint64_t time_of(const uint64_t *words)
{
    return (words[0] >> 8 & 0xffffff) | words[1] >> LOG_ADDRESS_BITS << 24;
}

static struct live_block *find_block(struct cull *cull, uint64_t address)
{
    uint32_t slot = (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 51);

    while (cull->live[slot].address && cull->live[slot].address != address)
        slot = (slot + 1) & (SLOTS - 1);
    return &cull->live[slot];
}

/* Who does what at a place of the segment. */
struct actor {
    uint32_t thread, group;
};

/* What blocks of one total have in common beside who made and freed them. */
static uint32_t kind_of(uint64_t size_bytes, bool is_temporary)
{
    return size_class_of(size_bytes) << 1 | is_temporary;
}

static struct total *find_total(struct cull *cull, uint32_t node, uint32_t free_node,
                                struct actor actor, uint32_t kind)
{
    uint64_t key = ((uint64_t)node << 32 | free_node) ^ (uint64_t)actor.thread << 20
                   ^ (uint64_t)actor.group << 40 ^ (uint64_t)kind << 12;
    uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 51);

    for (; cull->total_slots[slot]; slot = (slot + 1) & (SLOTS - 1)) {
        struct total *total = &cull->totals[cull->total_slots[slot] - 1];
        if (total->node == node && total->free_node == free_node && total->thread == actor.thread
            && total->group == actor.group && total->kind == kind)
            return total;
    }
    cull->totals[cull->n_totals] = (struct total){.node = node,
                                                  .free_node = free_node,
                                                  .thread = actor.thread,
                                                  .group = actor.group,
                                                  .kind = kind};
    cull->total_slots[slot] = (uint16_t)(cull->n_totals + 1);
    return &cull->totals[cull->n_totals++];
}

/* CU-3 */
static bool is_one_block(const struct cull *cull, const struct live_block *block)
{
    return !cull->others
           || last_frees_by_others(cull->others, block->address, block->thread) + cull->margin_ticks
                  < block->ticks;
}

/* Marks the pair when the free ends a block that lived short. */
static void see_free(struct cull *cull, const uint64_t *words, uint32_t i, struct actor actor,
                     uint64_t ticks)
{
    struct live_block *block = find_block(cull, address_of(words[i + 1]));

    if (block->word && block->thread == actor.thread && block->group == actor.group
        && ticks - block->ticks <= cull->max_ticks && is_one_block(cull, block)) {
        uint32_t first = block->word - 1u;
        uint64_t size = words[first + 2] & ((1ull << LOG_SIZE_BITS) - 1);
        struct total *total =
            find_total(cull, (uint32_t)(words[first] >> 32), (uint32_t)(words[i] >> 32), actor,
                       kind_of(size, cull->births - block->births <= 1));
        total->n_blocks++;
        total->size_bytes += size;
        cull->is_culled[first] = cull->is_culled[i] = true;
    }
    block->word = 0;
}

static void see_allocation(struct cull *cull, const uint64_t *words, uint32_t i, struct actor actor,
                           uint64_t ticks)
{
    uint64_t address = address_of(words[i + 1]);

    *find_block(cull, address) = (struct live_block){.address = address,
                                                     .ticks = ticks,
                                                     .thread = actor.thread,
                                                     .group = actor.group,
                                                     .births = ++cull->births,
                                                     .word = (uint16_t)(i + 1)};
}

/* Words of the event at i; 0 when the rest is no sound log. */
static uint32_t length_at(const uint64_t *words, uint32_t i, uint32_t n_words)
{
    uint32_t n = log_event_words(words[i] & 255);

    if (n == 0 && n_words - i > 2)
        n = words[i + 2] & 0xffff;
    return n <= n_words - i ? n : 0;
}

/* Finds the pairs; false when the segment is not sound. */
static bool mark(struct cull *cull, const struct log_segment *segment, const uint64_t *words,
                 uint32_t n_words)
{
    uint64_t base = segment->base_ticks;
    struct actor actor = {.thread = segment->thread, .group = LOG_GROUP_ROOT};
    uint32_t n;

    for (uint32_t i = 0; i < n_words; i += n) {
        n = length_at(words, i, n_words);
        if (n == 0)
            return false;
        switch (words[i] & 255) {
        case LOG_ALLOC:
            see_allocation(cull, words, i, actor, base + time_of(words + i));
            break;
        case LOG_FREE:
            see_free(cull, words, i, actor, base + time_of(words + i));
            break;
        case LOG_REALLOC:
        case LOG_REALLOC_WIDE:
            find_block(cull, address_of(words[i + 3]))->word = 0;
            find_block(cull, address_of(words[i + 1]))->word = 0;
            cull->births++;
            break;
        case LOG_ALLOC_WIDE:
            cull->births++;
            /* fall through */
        case LOG_MOVE: /* it has more than one owner */
            find_block(cull, address_of(words[i + 1]))->word = 0;
            break;
        case LOG_TIME_BASE:
            base = words[i + 1];
            break;
        case LOG_THREAD:
            actor = (struct actor){(uint32_t)(words[i] >> 32), LOG_GROUP_ROOT};
            break;
        case LOG_GROUP:
            actor.group = (uint32_t)(words[i] >> 32);
            break;
        default:
            break;
        }
    }
    return true;
}

static uint32_t put_totals(struct cull *cull, const uint64_t *last_time, uint32_t n_kept)
{
    for (uint32_t i = 0; i < cull->n_totals; i++) {
        const struct total *total = &cull->totals[i];
        uint64_t *out = cull->words + n_kept;
        out[0] = LOG_CULLED | last_time[0] | (uint64_t)total->node << 32;
        out[1] = last_time[1] | log_group_code(total->group);
        out[2] =
            CULLED_WORDS | total->n_blocks << 16 | (total->kind & 1 ? LOG_CULLED_TEMPORARY : 0);
        out[3] = total->size_bytes;
        out[4] = total->free_node | (uint64_t)total->thread << 32;
        n_kept += CULLED_WORDS;
        cull->n_culled += total->n_blocks;
    }
    return n_kept;
}

static uint32_t find_last_culled(const struct cull *cull, uint32_t n_words)
{
    while (n_words > 0 && !cull->is_culled[n_words - 1])
        n_words--;
    return n_words - 1;
}

/* Copies what stays, with the totals in the place of the last event that does not: CU-4. */
static uint32_t rewrite(struct cull *cull, const uint64_t *words, uint32_t n_words)
{
    const uint32_t last_culled = find_last_culled(cull, n_words);
    uint64_t last_time[2] = {0, 0};
    uint32_t n_kept = 0;
    uint32_t n;

    for (uint32_t i = 0; i < n_words; i += n) {
        n = length_at(words, i, n_words);
        if ((words[i] & 255) == LOG_TIME_BASE) {
            last_time[0] = last_time[1] = 0;
        } else if (n > 1) {
            last_time[0] = words[i] & 0xffffff00u;
            last_time[1] = words[i + 1] >> LOG_ADDRESS_BITS << LOG_ADDRESS_BITS;
        }
        if (!cull->is_culled[i]) {
            memcpy(cull->words + n_kept, words + i, n * sizeof(*words));
            n_kept += n;
        } else if (i == last_culled) {
            n_kept = put_totals(cull, last_time, n_kept);
        }
    }
    return n_kept;
}

const void *cull_temporary(struct cull *cull, const struct log_segment *segment,
                           const void *payload, const struct last_frees *others,
                           double ticks_per_ns, uint32_t *n_bytes)
{
    const uint64_t *words = payload;
    uint32_t n_words = *n_bytes / 8;
    double max_ticks = (double)cull->max_ns * ticks_per_ns;

    memset(cull->is_culled, 0, sizeof(cull->is_culled));
    memset(cull->live, 0, sizeof(cull->live));
    memset(cull->total_slots, 0, sizeof(cull->total_slots));
    cull->n_totals = 0;
    cull->births = 0;
    cull->max_ticks = (uint64_t)(max_ticks > 9e18 ? 9e18 : max_ticks);
    cull->margin_ticks = (uint64_t)(CULL_MARGIN_NS * ticks_per_ns);
    cull->others = others;
    if (!mark(cull, segment, words, n_words) || cull->n_totals == 0)
        return payload;
    *n_bytes = rewrite(cull, words, n_words) * 8;
    return cull->words;
}
