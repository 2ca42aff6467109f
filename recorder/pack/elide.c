/* SPDX-License-Identifier: MIT */
#include "recorder/pack/elide.h"

#include "lib/abi/attr.h"
#include "lib/base/lower_bound.h"
#include "lib/totals/report_grid.h"
#include "recorder/pack/elide_clock.h"
#include "recorder/pack/elide_totals.h"
#include "recorder/pack/instants.h"
#include "recorder/pack/last_frees.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS = ELIDE_TOTALS_WORDS,
    SLOTS_LOG2 = 12, /* a segment has room for two thirds as many allocations */
    SLOTS = 1 << SLOTS_LOG2,
    PAIRS = ELIDE_TOTALS_MOST,
    UNITS_LOG2 = 10,
    UNITS = 1 << UNITS_LOG2,
    ALLOCATIONS_WORDS = 2,
    GROUP_WORDS = 2,
    MOST_ALLOCATIONS = 60000, /* that were taken out before, in a damaged log */
};

static const int64_t longest_batch_ns = INT64_C(1) << 31; /* 32 bits have its times */

/* A block of this segment that is still allocated. */
struct live_block {
    uint64_t ticks;
    uint64_t size;
    uint32_t group;
    uint16_t word;        /* of its birth */
    uint16_t allocations; /* of the segment so far, it included; 0: it has ended */
    bool stays;
};

/* An allocation and the free of it. */
struct pair {
    uint64_t allocated_ticks, ended_ticks;
    uint32_t group;
    uint16_t allocation, end; /* words */
    uint16_t n_between;       /* blocks that the thread made */
    bool is_elided;
};

/* Blocks of a MiB of addresses that were told: the lowest and the end of the highest. */
struct unit {
    uint64_t key; /* number | class << 32; 0: none */
    uint64_t lowest, end;
};

/* The sum of what is known to be live, CU-5. */
struct course {
    uint64_t ticks; /* of the event before, rounded */
    int64_t sum, highest;
    int64_t settled; /* the sum behind the instant before: within one it counts for nothing */
    uint16_t word, highest_word; /* behind which event */
    bool is_higher;
};

struct elide {
    uint64_t max_ns;
    uint64_t n_elided;
    uint64_t n_before; /* the segment of the last call */
    uint64_t n_events; /* of it, what is taken out included */
    struct elide_clock clock;
    unsigned time_shift;
    /* of the call */
    struct last_frees *others; /* NULL: one thread */
    uint64_t max_ticks, margin_ticks, from_ticks;
    uint32_t thread, group;
    uint32_t epoch;
    uint32_t
        allocations; /* blocks that the thread made in the segment so far; a thread's follow each other */
    uint32_t n_threads; /* that the segment names */
    uint32_t n_pairs, n_peaks, n_last_ends;
    /* of the stretch */
    bool is_open;
    uint32_t first_pair, first_word;
    uint64_t until_ticks; /* before which it ends */
    uint64_t next_ticks;  /* not before then another one begins */
    struct course course;
    uint16_t peaks[WORDS / 2 + 2]; /* words behind which what lives stays; rising */
    struct pair pairs[PAIRS];
    uint16_t pair_at[WORDS];        /* of the event at this word, its birth or end: index + 1 */
    uint16_t allocations_at[WORDS]; /* that were told before the allocation at this word */
    uint16_t last_ends[WORDS];      /* of stretches from which something was taken: rising */
    uint64_t keys[SLOTS];           /* address | epoch of the segment << 48; another epoch: none */
    struct live_block live[SLOTS];
    bool is_sorted; /* CU-9: from the first word of a pool on */
    uint32_t n_sorted;
    uint64_t sorted[SLOTS]; /* addresses of blocks that are known, rising */
    struct unit units[UNITS];
    struct elide_totals totals;
    uint64_t words[WORDS];
};

struct elide *elide_new(uint64_t max_ns)
{
    struct elide *elide = calloc(1, sizeof(*elide));

    if (elide)
        elide->max_ns = max_ns;
    return elide;
}

void elide_free(struct elide *elide)
{
    free(elide);
}

uint64_t elide_count(const struct elide *elide)
{
    return elide ? elide->n_elided : 0;
}

void elide_set_clock(struct elide *elide, const struct log_file *file, unsigned time_shift)
{
    elide_clock_begin(&elide->clock, file);
    elide->time_shift = time_shift;
}

static uint64_t address_of(uint64_t word)
{
    return word & ((1ull << LOG_ADDRESS_BITS) - 1);
}

static uint64_t time_of(const uint64_t *words)
{
    return (words[0] >> 8 & 0xffffff) | words[1] >> LOG_ADDRESS_BITS << 24;
}

static uint64_t rounded(const struct elide *elide, uint64_t ticks)
{
    return ticks >> elide->time_shift << elide->time_shift;
}

/* Its slot, or the one where it would be. */
static struct live_block *find_block(struct elide *elide, uint64_t address)
{
    const uint64_t key = address | (uint64_t)elide->epoch << LOG_ADDRESS_BITS;
    uint32_t slot = (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> (64 - SLOTS_LOG2));

    while (elide->keys[slot] != key && elide->keys[slot] >> LOG_ADDRESS_BITS == elide->epoch)
        slot = (slot + 1) & (SLOTS - 1);
    return &elide->live[slot];
}

static uint64_t key_of(const struct elide *elide, const struct live_block *block)
{
    return elide->keys[block - elide->live];
}

static uint64_t block_address(const struct elide *elide, const struct live_block *block)
{
    return address_of(key_of(elide, block));
}

static bool is_known(const struct elide *elide, const struct live_block *block)
{
    return key_of(elide, block) >> LOG_ADDRESS_BITS == elide->epoch && block->allocations;
}

/* ---- blocks that pools give out of (CU-9) ---------------------------------------------------- */

static int compare_addresses(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;

    return (*a > *b) - (*a < *b);
}

/* Of how many the address is behind. */
static uint32_t place_of(const struct elide *elide, uint64_t address)
{
    size_t place;

    LOWER_BOUND(place, elide->n_sorted, elide->sorted[place] < address);
    return (uint32_t)place;
}

static void sort_blocks(struct elide *elide)
{
    elide->n_sorted = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (is_known(elide, &elide->live[slot]))
            elide->sorted[elide->n_sorted++] = address_of(elide->keys[slot]);
    qsort(elide->sorted, elide->n_sorted, sizeof elide->sorted[0], compare_addresses);
    elide->is_sorted = true;
}

static void insert_sorted(struct elide *elide, uint64_t address)
{
    uint32_t at = place_of(elide, address);

    if (at < elide->n_sorted && elide->sorted[at] == address)
        return;
    memmove(elide->sorted + at + 1, elide->sorted + at,
            (elide->n_sorted - at) * sizeof elide->sorted[0]);
    elide->sorted[at] = address;
    elide->n_sorted++;
}

static void remove_sorted(struct elide *elide, uint64_t address)
{
    uint32_t at = place_of(elide, address);

    if (at == elide->n_sorted || elide->sorted[at] != address)
        return;
    elide->n_sorted--;
    memmove(elide->sorted + at, elide->sorted + at + 1,
            (elide->n_sorted - at) * sizeof elide->sorted[0]);
}

/* A pool gives out a block at the address. */
static void keep_around(struct elide *elide, uint64_t address)
{
    uint32_t at;

    if (!elide->is_sorted)
        sort_blocks(elide);
    at = place_of(elide, address + 1);
    if (at == 0)
        return;
    struct live_block *block = find_block(elide, elide->sorted[at - 1]);
    if (is_known(elide, block) && address - block_address(elide, block) < block->size)
        block->stays = true;
}

/* ---- stretches ------------------------------------------------------------------------------- */

static void emit_peak(struct elide *elide)
{
    struct course *course = &elide->course;

    if (course->is_higher && elide->is_open)
        elide->peaks[elide->n_peaks++] = course->highest_word;
    course->is_higher = false;
}

/* What is live behind the last event of an instant. Where there are others, blocks may have ended by the next one. */
static void end_instant(struct elide *elide)
{
    struct course *course = &elide->course;

    if (course->sum > course->highest) {
        course->highest = course->sum;
        course->highest_word = course->word;
        course->is_higher = true;
        if (elide->others)
            emit_peak(elide);
    }
}

/* CU-5. Pairs are in the order of their ends, and so are peaks. */
static void keep_peaks(struct elide *elide)
{
    uint32_t n_before = 0; /* the end */

    for (uint32_t i = elide->first_pair; i < elide->n_pairs; i++) {
        struct pair *pair = &elide->pairs[i];
        while (n_before < elide->n_peaks && elide->peaks[n_before] < pair->end)
            n_before++;
        if (n_before && elide->peaks[n_before - 1] >= pair->allocation)
            pair->is_elided = false;
    }
    elide->n_peaks = 0;
}

static void end_batch(struct elide *elide)
{
    uint32_t last_end = 0;

    if (!elide->is_open)
        return;
    end_instant(elide);
    emit_peak(elide);
    elide->is_open = false;
    keep_peaks(elide);
    for (uint32_t i = elide->n_pairs; i > elide->first_pair && !last_end; i--)
        if (elide->pairs[i - 1].is_elided)
            last_end = elide->pairs[i - 1].end;
    if (last_end)
        elide->last_ends[elide->n_last_ends++] = (uint16_t)last_end;
}

static uint64_t later(const struct elide *elide, uint64_t ticks, int64_t ns)
{
    return ticks
           + (uint64_t)elide_clock_whole((double)(ns < 0 ? 0 : ns) * elide->clock.ticks_per_ns);
}

/* CU-8: the stretch that begins at these ticks. */
static void end_at_instant(struct elide *elide, uint64_t ticks)
{
    uint64_t margin = elide->margin_ticks;
    uint64_t instant = elide->others
                           ? instants_next(last_frees_instants(elide->others), ticks - margin)
                           : UINT64_MAX;

    if (instant > elide->next_ticks)
        return;
    elide->next_ticks = instant + margin;
    if (instant - margin < elide->until_ticks)
        elide->until_ticks = instant - margin;
}

/* Until when nothing comes in between that a report tells apart, as far as is known for sure. */
static void begin_batch(struct elide *elide, uint64_t ticks, uint32_t word)
{
    int64_t now_ns = elide_clock_ns(&elide->clock, ticks);
    int64_t margin = elide_clock_margin_ns(&elide->clock, ticks);
    int64_t left_ns;

    if (now_ns < margin)
        return;
    left_ns = elide_clock_bucket_end(now_ns - margin) - now_ns;
    if (left_ns > longest_batch_ns)
        left_ns = longest_batch_ns;
    elide->next_ticks = later(elide, ticks, left_ns + margin);
    elide->until_ticks = later(elide, ticks, left_ns - margin);
    end_at_instant(elide, ticks);
    elide->is_open = elide->until_ticks > ticks;
    elide->first_pair = elide->n_pairs;
    elide->first_word = word;
    elide->course.highest = elide->course.settled;
    elide->course.is_higher = false;
}

/* Before each event of a block, at this word: which stretch is it of? */
static void go_on(struct elide *elide, uint64_t ticks, uint32_t word)
{
    if (rounded(elide, ticks) != elide->course.ticks) {
        end_instant(elide);
        elide->course.settled = elide->course.sum;
        elide->course.ticks = rounded(elide, ticks);
    }
    if (elide->is_open && ticks >= elide->until_ticks)
        end_batch(elide);
    if (!elide->is_open && ticks >= elide->next_ticks && ticks >= elide->from_ticks)
        begin_batch(elide, ticks, word);
}

/* ---- finding pairs --------------------------------------------------------------------------- */

/* CU-3 */
static bool is_one_block(const struct elide *elide, const struct live_block *block)
{
    return !elide->others
           || last_frees_by_others(elide->others, block_address(elide, block), elide->thread)
                      + elide->margin_ticks
                  < block->ticks;
}

/* May the block, which ends now, be taken out? */
static bool is_temporary(const struct elide *elide, const struct live_block *block, uint64_t ticks)
{
    uint64_t lived = rounded(elide, ticks) - rounded(elide, block->ticks);

    return elide->is_open && !block->stays && block->word >= elide->first_word
           && block->group == elide->group && lived <= elide->max_ticks;
}

/* A block of which the segment has the birth ends; false: another thread ended it before, and now ends what is not known here. */
static bool subtract(struct elide *elide, const struct live_block *block)
{
    bool is_ours = is_one_block(elide, block);

    if (is_ours)
        elide->course.sum -= (int64_t)block->size;
    return is_ours;
}

static void see_free(struct elide *elide, const uint64_t *words, uint32_t i, uint64_t ticks)
{
    struct live_block *block = find_block(elide, address_of(words[i + 1]));

    if (!is_known(elide, block)) {
        emit_peak(elide);
        return;
    }
    bool is_ours = subtract(elide, block);
    elide->pairs[elide->n_pairs] =
        (struct pair){.allocated_ticks = block->ticks,
                      .ended_ticks = ticks,
                      .group = block->group,
                      .allocation = block->word,
                      .end = (uint16_t)i,
                      .n_between = (uint16_t)(elide->allocations - block->allocations),
                      .is_elided = is_ours && is_temporary(elide, block, ticks)};
    elide->pair_at[block->word] = elide->pair_at[i] = (uint16_t)++elide->n_pairs;
    block->allocations = 0;
    if (elide->is_sorted)
        remove_sorted(elide, block_address(elide, block));
}

/* CU-6: was one told that is as low, and one that is as high? */
static bool is_within_unit(struct elide *elide, uint64_t address, uint64_t word)
{
    uint64_t number = address >> REPORT_GRID_UNIT_SHIFT;
    uint64_t key = (number << 3 | word >> (LOG_SIZE_BITS + LOG_SLACK_BITS + 5)) + 1;
    struct unit *unit = &elide->units[key * 0x9e3779b97f4a7c15u >> (64 - UNITS_LOG2)];
    uint64_t end = address + (word & ((1ull << LOG_SIZE_BITS) - 1))
                   + (word >> LOG_SIZE_BITS & ((1u << LOG_SLACK_BITS) - 1));
    bool is_within = unit->key == key && unit->lowest <= address && unit->end >= end;

    if (is_within)
        return true;
    if (unit->key != key)
        *unit = (struct unit){.key = key, .lowest = address, .end = end};
    if (address < unit->lowest)
        unit->lowest = address;
    if (end > unit->end)
        unit->end = end;
    return false;
}

static void add_block(struct elide *elide, uint64_t address, uint64_t ticks, uint64_t size,
                      uint32_t word, bool stays)
{
    struct live_block *block = find_block(elide, address);

    elide->course.sum += (int64_t)size;
    elide->keys[block - elide->live] = address | (uint64_t)elide->epoch << LOG_ADDRESS_BITS;
    *block = (struct live_block){.ticks = ticks,
                                 .size = size,
                                 .group = elide->group,
                                 .word = (uint16_t)word,
                                 .allocations = (uint16_t)++elide->allocations,
                                 .stays = stays};
    if (elide->is_sorted)
        insert_sorted(elide, address);
}

static uint64_t narrow_size(uint64_t word)
{
    return word & ((1ull << LOG_SIZE_BITS) - 1);
}

/* No block is larger than there are addresses: so no sum overflows. */
static uint64_t wide_size(uint64_t word)
{
    return word < 1ull << LOG_ADDRESS_BITS ? word : 0;
}

static void see_allocation(struct elide *elide, const uint64_t *words, uint32_t i, uint64_t ticks)
{
    uint64_t address = address_of(words[i + 1]);

    add_block(elide, address, ticks, narrow_size(words[i + 2]), i,
              !is_within_unit(elide, address, words[i + 2]));
}

static void see_realloc(struct elide *elide, const uint64_t *words, uint32_t i, uint64_t ticks,
                        uint64_t size)
{
    struct live_block *old = find_block(elide, address_of(words[i + 3]));

    if (is_known(elide, old)) {
        (void)subtract(elide, old);
        old->allocations = 0;
        if (elide->is_sorted)
            remove_sorted(elide, block_address(elide, old));
    } else if (address_of(words[i + 3])) {
        emit_peak(elide);
    }
    if (address_of(words[i + 1]))
        add_block(elide, address_of(words[i + 1]), ticks, size, i, true);
}

/* Words of the event at i; 0 when the rest is no sound log. */
MTRACE_INLINE uint32_t length_at(const uint64_t *words, uint32_t i, uint32_t n_words)
{
    uint32_t n = log_event_words(words[i] & 255);

    if (n == 0 && n_words - i > 2)
        n = words[i + 2] & 0xffff;
    return n <= n_words - i && n != 1 ? n : 0;
}

static void see_block_event(struct elide *elide, const uint64_t *words, uint32_t i, uint64_t ticks)
{
    go_on(elide, ticks, i);
    switch (words[i] & 255) {
    case LOG_ALLOC:
        see_allocation(elide, words, i, ticks);
        break;
    case LOG_FREE:
        see_free(elide, words, i, ticks);
        break;
    case LOG_ALLOC_WIDE:
        add_block(elide, address_of(words[i + 1]), ticks, wide_size(words[i + 3]), i, true);
        break;
    case LOG_REALLOC:
        see_realloc(elide, words, i, ticks, narrow_size(words[i + 2]));
        break;
    default: /* LOG_REALLOC_WIDE */
        see_realloc(elide, words, i, ticks, wide_size(words[i + 4]));
    }
    elide->course.word = (uint16_t)i;
}

/* What others made is not known to it; a block of theirs that it ends is none of its own sum. */
static void begin_thread(struct elide *elide, uint32_t thread)
{
    if (++elide->epoch >> (64 - LOG_ADDRESS_BITS)) {
        memset(elide->keys, 0, sizeof(elide->keys));
        elide->epoch = 1;
    }
    elide->thread = thread;
    elide->is_sorted = false;
    elide->group = LOG_GROUP_ROOT;
    elide->allocations = 0;
    elide->course = (struct course){0};
}

/* Of which nobody looks at more than the block that it is of. */
MTRACE_INLINE bool is_of_itself(unsigned kind)
{
    return kind == LOG_POOL_ALLOC || kind == LOG_POOL_FREE || kind == LOG_POOL_RESIZE;
}

static void see_move(struct elide *elide, uint64_t address)
{
    struct live_block *block = find_block(elide, address);

    if (is_known(elide, block))
        block->stays = true; /* it has more than one owner */
}

/* An event that is of no block: whoever looks at what is live looks here. */
static void see_other(struct elide *elide, const uint64_t *words, uint32_t i)
{
    end_batch(elide);
    elide->next_ticks = 0;
    switch (words[i] & 255) {
    case LOG_THREAD:
        begin_thread(elide, (uint32_t)(words[i] >> 32));
        elide->n_threads++;
        break;
    case LOG_ELIDED_ALLOCATIONS:
        elide->allocations += (uint32_t)(words[i] >> 32);
        break;
    default:
        break;
    }
}

MTRACE_INLINE bool is_of_block(unsigned kind)
{
    return kind == LOG_ALLOC || kind == LOG_FREE || kind == LOG_ALLOC_WIDE || kind == LOG_REALLOC
           || kind == LOG_REALLOC_WIDE;
}

/* Finds the pairs; false when the segment is not sound. */
static bool mark(struct elide *elide, const struct log_segment *segment, const uint64_t *words,
                 uint32_t n_words)
{
    uint64_t base = segment->base_ticks;
    uint32_t n;

    for (uint32_t i = 0; i < n_words; i += n) {
        unsigned kind = words[i] & 255;
        n = length_at(words, i, n_words);
        if (n == 0 || elide->allocations > MOST_ALLOCATIONS)
            return false;
        if (mtrace_likely(is_of_block(kind))) {
            elide->n_events++;
            see_block_event(elide, words, i, base + time_of(words + i));
            continue;
        }
        elide->n_events += elide_totals_events_of(words + i);
        if (kind == LOG_TIME_BASE)
            base = words[i + 1];
        else if (kind == LOG_GROUP)
            elide->group = (uint32_t)(words[i] >> 32);
        else if (kind == LOG_MOVE)
            see_move(elide, address_of(words[i + 1]));
        else if (kind == LOG_POOL_ALLOC || kind == LOG_POOL_RESIZE)
            keep_around(elide, address_of(words[i + 1]));
        else if (!is_of_itself(kind))
            see_other(elide, words, i);
    }
    end_batch(elide);
    return elide->allocations <= MOST_ALLOCATIONS;
}

/* ---- what stays ------------------------------------------------------------------------------ */

/* The words that are made of the given ones. */
struct output {
    uint64_t *at;
    uint64_t *end;
    uint64_t time[2];                     /* of the event before, as in its first two words */
    uint32_t allocations;                 /* so far, all of them */
    uint32_t n_unreported;                /* of those taken out: no record says so yet */
    uint64_t live_bytes, most_live_bytes; /* of the blocks that are taken out */
    uint32_t next_end;                    /* of last_ends */
    uint64_t base_ticks;
    uint32_t group, written_group; /* of what follows; as the words so far say */
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool emit_allocations(struct output *output)
{
    uint64_t bytes = output->most_live_bytes;

    if (output->n_unreported == 0)
        return true;
    if (output->end - output->at < ALLOCATIONS_WORDS)
        return false;
    output->at[0] = LOG_ELIDED_ALLOCATIONS | output->time[0] | (uint64_t)output->n_unreported << 32;
    output->at[1] = output->time[1] | (bytes >> LOG_ADDRESS_BITS ? address_of(UINT64_MAX) : bytes);
    output->at += ALLOCATIONS_WORDS;
    output->n_unreported = 0;
    return true;
}

static const struct pair *pair_at(const struct elide *elide, uint32_t i)
{
    return elide->pair_at[i] ? &elide->pairs[elide->pair_at[i] - 1] : NULL;
}

/* CU-4: of a free it matters whether more than one were since the birth; of a block from before none, one or more since the thread's events
 * began, as there may have been one between the two. */
static bool is_due_at_free(const struct elide *elide, const struct output *output, uint32_t i)
{
    const struct pair *pair = pair_at(elide, i);
    uint32_t reported = output->allocations - output->n_unreported;

    if (!pair)
        return reported < least(output->allocations, 2);
    return pair->n_between >= 2 && reported - elide->allocations_at[pair->allocation] < 2;
}

/* Are those that are untold at the pair's birth still so at its end, so that they count for nothing between? No more than one birth lies there: no event
 * is looked at by more than two. */
static bool is_unreported_until_end(const struct elide *elide, const struct output *output,
                                    const uint64_t *words, uint32_t n_words,
                                    const struct pair *pair)
{
    for (uint32_t i = pair->allocation + length_at(words, pair->allocation, n_words); i < pair->end;
         i += length_at(words, i, n_words)) {
        unsigned kind = words[i] & 255;
        const struct pair *other = is_of_block(kind) ? pair_at(elide, i) : NULL;
        if (other && other->is_elided) {
            if (output->next_end < elide->n_last_ends && elide->last_ends[output->next_end] == i)
                return false;
        } else if (kind == LOG_FREE ? is_due_at_free(elide, output, i)
                                    : is_of_block(kind) || kind == LOG_ELIDED_ALLOCATIONS) {
            return false;
        }
    }
    return true;
}

/* CU-4: of a birth that stays it matters how many were before it when few come until its end. */
static bool is_due(const struct elide *elide, const struct output *output, const uint64_t *words,
                   uint32_t n_words, uint32_t i)
{
    const struct pair *pair = pair_at(elide, i);

    if ((words[i] & 255) == LOG_FREE)
        return is_due_at_free(elide, output, i);
    if (pair && pair->allocation == i)
        return pair->n_between < 2 && !is_unreported_until_end(elide, output, words, n_words, pair);
    return elide->n_threads > 1 || elide->allocations - output->allocations <= 2;
}

static void count_elided(struct elide *elide, struct output *output, const uint64_t *words,
                         uint32_t i, const struct pair *pair)
{
    uint64_t word = words[pair->allocation + 2];

    if (pair->allocation == i) {
        output->allocations++;
        output->n_unreported++;
        output->live_bytes += narrow_size(word);
        if (output->live_bytes > output->most_live_bytes)
            output->most_live_bytes = output->live_bytes;
        return;
    }
    output->live_bytes -= narrow_size(word);
    elide->n_elided++;
    elide_totals_add(
        &elide->totals,
        &(struct elide_block){.node = (uint32_t)(words[pair->allocation] >> 32),
                              .free_node = (uint32_t)(words[i] >> 32),
                              .group = pair->group,
                              .size = word & ((1ull << (LOG_SIZE_BITS + LOG_SLACK_BITS)) - 1),
                              .allocated_ticks = rounded(elide, pair->allocated_ticks),
                              .ended_ticks = rounded(elide, pair->ended_ticks),
                              .is_temporary = pair->n_between <= 1});
}

/* Behind the last event of a stretch that was taken out. */
static bool put_totals(struct elide *elide, struct output *output, const struct pair *last)
{
    output->at = elide_totals_put(&elide->totals, output->time, rounded(elide, last->ended_ticks),
                                  output->at, output->end);
    if (!output->at || !emit_allocations(output))
        return false;
    output->most_live_bytes = 0;
    output->next_end++;
    return true;
}

/* False: no room. */
static bool emit_group(struct output *output)
{
    if (output->group == output->written_group)
        return true;
    if (output->end - output->at < GROUP_WORDS)
        return false;
    output->at[0] = LOG_GROUP | output->time[0] | (uint64_t)output->group << 32;
    output->at[1] = output->time[1];
    output->at += GROUP_WORDS;
    output->written_group = output->group;
    return true;
}

/* Of a thread whose groups change all the time few events may stay: a LOG_GROUP stands before those. True: it is dealt with. */
static bool leave_group(const struct elide *elide, struct output *output, const uint64_t *words)
{
    if (output->base_ticks + time_of(words) < elide->from_ticks) {
        output->written_group = output->group;
        return false; /* CU-7 */
    }
    return true;
}

/* Records that say how to read what follows. */
static void take_bookkeeping(struct output *output, const uint64_t *words)
{
    switch (words[0] & 255) {
    case LOG_GROUP:
        output->group = (uint32_t)(words[0] >> 32);
        break;
    case LOG_TIME_BASE:
        output->base_ticks = words[1];
        break;
    case LOG_THREAD:
        output->allocations = 0; /* all that were taken out are told: a stretch ends before */
        output->group = output->written_group = LOG_GROUP_ROOT;
        break;
    default:
        break;
    }
}

static bool keep(struct elide *elide, struct output *output, const uint64_t *words,
                 uint32_t n_words, uint32_t i, uint32_t n)
{
    unsigned kind = words[i] & 255;

    take_bookkeeping(output, words + i);
    if (kind == LOG_GROUP && leave_group(elide, output, words + i))
        return true;
    if (is_of_block(kind)) {
        if (output->n_unreported && is_due(elide, output, words, n_words, i)
            && !emit_allocations(output))
            return false;
        if (kind != LOG_FREE && address_of(words[i + 1])) {
            output->allocations++;
            elide->allocations_at[i] = (uint16_t)(output->allocations - output->n_unreported);
        }
    } else if (kind == LOG_ELIDED_ALLOCATIONS) {
        output->allocations += (uint32_t)(words[i] >> 32);
    }
    if (!log_event_is_bookkeeping(kind) && !emit_group(output))
        return false;
    if (output->end - output->at < n)
        return false;
    memcpy(output->at, words + i, n * sizeof(*words));
    output->at += n;
    return true;
}

static void take_time(struct output *output, const uint64_t *words)
{
    if ((words[0] & 255) == LOG_TIME_BASE) {
        output->time[0] = output->time[1] = 0;
    } else if (!log_event_is_bookkeeping(words[0] & 255)) {
        output->time[0] = words[0] & 0xffffff00u;
        output->time[1] = words[1] >> LOG_ADDRESS_BITS << LOG_ADDRESS_BITS;
    }
}

/* Copies what stays; 0: CU-2 would not hold. */
static uint32_t rewrite(struct elide *elide, const struct log_segment *segment,
                        const uint64_t *words, uint32_t n_words)
{
    struct output output = {.at = elide->words,
                            .end = elide->words + WORDS,
                            .base_ticks = segment->base_ticks,
                            .group = LOG_GROUP_ROOT,
                            .written_group = LOG_GROUP_ROOT};
    bool has_room = true;
    uint32_t n;

    for (uint32_t i = 0; has_room && i < n_words; i += n) {
        const struct pair *pair = elide->pair_at[i] && is_of_block(words[i] & 255)
                                      ? &elide->pairs[elide->pair_at[i] - 1]
                                      : NULL;
        n = length_at(words, i, n_words);
        if (!pair || !pair->is_elided) {
            has_room = keep(elide, &output, words, n_words, i, n);
            take_time(&output, words + i);
            continue;
        }
        take_time(&output, words + i);
        count_elided(elide, &output, words, i, pair);
        if (output.next_end < elide->n_last_ends && elide->last_ends[output.next_end] == i)
            has_room = put_totals(elide, &output, pair);
    }
    if (has_room)
        return (uint32_t)(output.at - elide->words);
    elide->n_elided = elide->n_before;
    return 0;
}

static void begin_segment(struct elide *elide, const struct log_segment *segment,
                          struct last_frees *others, uint64_t from_ticks, uint32_t n_words)
{
    double max_ticks = (double)elide->max_ns * elide->clock.ticks_per_ns;

    begin_thread(elide, segment->thread);
    memset(elide->pair_at, 0, n_words * sizeof(*elide->pair_at));
    elide_totals_clear(&elide->totals);
    elide->totals.ns_per_tick = 1 / elide->clock.ticks_per_ns;
    elide->others = others;
    elide->max_ticks = (uint64_t)elide_clock_whole(max_ticks);
    elide->margin_ticks = (uint64_t)elide_clock_whole(ELIDE_MARGIN_NS * elide->clock.ticks_per_ns);
    elide->from_ticks = from_ticks;
    elide->n_pairs = elide->n_peaks = elide->n_last_ends = 0;
    elide->n_threads = 1;
    elide->is_open = false;
    elide->next_ticks = 0;
    elide->n_events = 0;
}

const void *elide_temporary(struct elide *elide, const struct log_segment *segment,
                            const void *payload, struct last_frees *others, uint64_t from_ticks,
                            uint32_t *n_bytes)
{
    const uint64_t *words = payload;
    uint32_t n_words = *n_bytes / 8;
    uint32_t n_kept = 0;

    elide->n_before = elide->n_elided;
    if (!elide_clock_read(&elide->clock, segment))
        return payload;
    begin_segment(elide, segment, others, from_ticks, n_words);
    if (mark(elide, segment, words, n_words) && elide->n_last_ends)
        n_kept = rewrite(elide, segment, words, n_words);
    if (n_kept == 0)
        return payload;
    *n_bytes = n_kept * 8;
    return elide->words;
}

uint64_t elide_n_events(const struct elide *elide)
{
    return elide->n_events;
}

/* Which of the units the segment changed is not known: of each a block is told anew. */
void elide_undo(struct elide *elide)
{
    elide->n_elided = elide->n_before;
    memset(elide->units, 0, sizeof(elide->units));
}
