/* SPDX-License-Identifier: MIT */
#include "recorder/pack/elide.h"

#include "lib/abi/attr.h"
#include "lib/base/lower_bound.h"
#include "lib/totals/report_classes.h"
#include "recorder/pack/elide_clock.h"
#include "recorder/pack/elide_totals.h"
#include "recorder/pack/last_frees.h"
#include "recorder/pack/sync_points.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS = ELIDE_TOTALS_WORDS,
    SLOTS_LOG2 = 12, /* a segment holds at most two thirds as many allocations */
    SLOTS = 1 << SLOTS_LOG2,
    PAIRS = ELIDE_TOTALS_MAX,
    UNITS_LOG2 = 10,
    UNITS = 1 << UNITS_LOG2,
    ALLOCATIONS_WORDS = 2,
    GROUP_WORDS = 2,
    MAX_ALLOCATIONS = 60000, /* elided before in a damaged log */
};

static const int64_t longest_batch_ns = INT64_C(1) << 31; /* its times fit into 32 bits */

/* A live block that was allocated in this segment. */
struct live_block {
    uint64_t ticks;
    uint64_t size;
    uint32_t group;
    uint16_t word;        /* of its allocation */
    uint16_t allocations; /* of the segment up to and including it; 0: freed */
    bool stays;
};

/* An allocation and its free. */
struct pair {
    uint64_t allocated_ticks, ended_ticks;
    uint32_t group;
    uint16_t allocation, end; /* words */
    uint16_t n_between;       /* blocks allocated in between by the thread */
    bool is_elided;
};

/* Address range of reported blocks in one MiB: the lowest address and the highest end. */
struct unit {
    uint64_t key; /* number | class << 32; 0: none */
    uint64_t lowest, end;
};

/* The running sum of known live bytes (CU-5). */
struct course {
    uint64_t ticks; /* of the previous event, rounded */
    int64_t sum, highest;
    int64_t settled;             /* the sum after all events of the previous time */
    uint16_t word, highest_word; /* after which event */
    bool is_higher;
};

struct elide {
    uint64_t max_ns;
    uint64_t n_elided;
    uint64_t n_before; /* n_elided before the last call */
    uint64_t n_events; /* of its segment, including elided ones */
    struct elide_clock clock;
    unsigned time_shift;
    /* state of the call */
    struct last_frees *others; /* NULL: one thread */
    uint64_t max_ticks, margin_ticks, from_ticks;
    uint32_t thread, group;
    uint32_t epoch;
    uint32_t allocations; /* of the thread so far; continues over its segments */
    uint32_t n_threads;   /* threads named in the segment */
    uint32_t n_pairs, n_peaks, n_last_ends;
    /* state of the batch */
    bool is_open;
    uint32_t first_pair, first_word;
    uint64_t until_ticks; /* it ends before this time */
    uint64_t next_ticks;  /* the next one begins no earlier */
    struct course course;
    uint16_t peaks[WORDS / 2 + 2]; /* words after which live blocks stay; ascending */
    struct pair pairs[PAIRS];
    uint16_t pair_at[WORDS];        /* of the allocation or free at this word: index + 1 */
    uint16_t allocations_at[WORDS]; /* reported before the allocation at this word */
    uint16_t last_ends[WORDS];      /* of batches with elided blocks; ascending */
    uint64_t keys[SLOTS];           /* address | epoch of the segment << 48; other epoch: empty */
    struct live_block live[SLOTS];
    bool is_sorted; /* CU-9: from the first pool event on */
    uint32_t n_sorted;
    uint64_t sorted[SLOTS]; /* addresses of known live blocks, ascending */
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

void elide_set_clock(struct elide *elide, const struct log_header *file, unsigned time_shift)
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

/* The block's slot, or the empty one where it belongs. */
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

/* ---- blocks inside which pools give out blocks (CU-9) ---------------------------------------- */

static int compare_addresses(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;

    return (*a > *b) - (*a < *b);
}

/* The number of sorted addresses below this one. */
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

/* A pool gives out a block at the address, so the block around it stays. */
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

/* ---- batches --------------------------------------------------------------------------------- */

static void emit_peak(struct elide *elide)
{
    struct course *course = &elide->course;

    if (course->is_higher && elide->is_open)
        elide->peaks[elide->n_peaks++] = course->highest_word;
    course->is_higher = false;
}

/* Takes the sum after the last event of one time. With several threads, others may have freed
 * blocks before the next time. */
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

/* CU-5. Pairs are sorted by their free, and so are peaks. */
static void keep_peaks(struct elide *elide)
{
    uint32_t n_before = 0; /* the free */

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

/* CU-8: limits the batch that begins at these ticks. */
static void end_at_instant(struct elide *elide, uint64_t ticks)
{
    uint64_t margin = elide->margin_ticks;
    uint64_t instant = elide->others
                           ? sync_points_next(last_frees_sync_points(elide->others), ticks - margin)
                           : UINT64_MAX;

    if (instant > elide->next_ticks)
        return;
    elide->next_ticks = instant + margin;
    if (instant - margin < elide->until_ticks)
        elide->until_ticks = instant - margin;
}

/* The batch ends before the next time that a report distinguishes, with a margin for clock
 * errors. */
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

/* Called for each event of a block, at this word: ends and begins batches. */
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

/* The block, which is freed now, can be elided. */
static bool is_temporary(const struct elide *elide, const struct live_block *block, uint64_t ticks)
{
    uint64_t lived = rounded(elide, ticks) - rounded(elide, block->ticks);

    return elide->is_open && !block->stays && block->word >= elide->first_word
           && block->group == elide->group && lived <= elide->max_ticks;
}

/* Frees a block that was allocated in the segment. False: another thread freed it before, and this
 * free is of an unknown block. */
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

/* CU-6: blocks as low and as high in this MiB were already reported. */
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

/* A block cannot exceed the address space, so sums do not overflow. */
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

/* Words of the event at i; 0 if the rest is invalid. */
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

/* Resets the sum: blocks of other threads are unknown, and freeing them does not change it. */
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

/* These events affect only their own block, not the state of all. */
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

/* An event without a block: readers look at all live blocks here. */
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

/* Finds the pairs; false if the segment is invalid. */
static bool mark(struct elide *elide, const struct log_segment *segment, const uint64_t *words,
                 uint32_t n_words)
{
    uint64_t base = segment->base_ticks;
    uint32_t n;

    for (uint32_t i = 0; i < n_words; i += n) {
        unsigned kind = words[i] & 255;
        n = length_at(words, i, n_words);
        if (n == 0 || elide->allocations > MAX_ALLOCATIONS)
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
    return elide->allocations <= MAX_ALLOCATIONS;
}

/* ---- writing the result ---------------------------------------------------------------------- */

/* The output words. */
struct output {
    uint64_t *at;
    uint64_t *end;
    uint64_t time[2];                     /* of the previous event, as in its first two words */
    uint32_t allocations;                 /* so far, including elided ones */
    uint32_t n_unreported;                /* elided, but not in a record yet */
    uint64_t live_bytes, most_live_bytes; /* of elided blocks */
    uint32_t next_end;                    /* of last_ends */
    uint64_t base_ticks;
    uint32_t group, written_group; /* of the next events; and as written so far */
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

/* CU-4: for a free in this segment it matters whether more than one block was allocated since the
 * allocation. For a block from before, it matters whether none or at least one was since the
 * thread's events began, as one may have come in between. */
static bool is_due_at_free(const struct elide *elide, const struct output *output, uint32_t i)
{
    const struct pair *pair = pair_at(elide, i);
    uint32_t reported = output->allocations - output->n_unreported;

    if (!pair)
        return reported < least(output->allocations, 2);
    return pair->n_between >= 2 && reported - elide->allocations_at[pair->allocation] < 2;
}

/* Elided blocks unreported at the pair's allocation are still unreported at its free, so they
 * do not count in between. At most one allocation lies there, so each event is examined at most
 * twice. */
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

/* CU-4: for an allocation that stays, the number of blocks before it matters if few follow until
 * its free. */
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

/* Writes the totals after the last event of a batch with elided blocks. */
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

/* Writes a group change if needed. False: it does not fit. */
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

/* If a thread's groups change constantly, few events may stay; LOG_GROUP is written only before
 * those. True: handled. */
static bool leave_group(const struct elide *elide, struct output *output, const uint64_t *words)
{
    if (output->base_ticks + time_of(words) < elide->from_ticks) {
        output->written_group = output->group;
        return false; /* CU-7 */
    }
    return true;
}

/* Records that determine how to read the next events. */
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
        output->allocations = 0; /* all elided ones were reported, as a batch ends before */
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

/* Copies the events that stay; 0: CU-2 would be violated. */
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

/* It is unknown which units the segment has changed, so all are reset: in each, blocks are reported
 * again. */
void elide_undo(struct elide *elide)
{
    elide->n_elided = elide->n_before;
    memset(elide->units, 0, sizeof(elide->units));
}
