/* SPDX-License-Identifier: MIT */
#include "recorder/pack/elide.h"

#include "lib/abi/attr.h"
#include "lib/totals/report_classes.h"
#include "recorder/pack/last_frees.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS = LOG_SEGMENT_PAYLOAD_BYTES / 8,
    SLOTS_LOG2 = 12, /* a segment holds at most two thirds as many allocations */
    SLOTS = 1 << SLOTS_LOG2,
    PAIRS = WORDS / 5 + 1, /* words of an allocation and its free */
};

/* A live block that was allocated in this segment. */
struct live_block {
    uint64_t ticks;
    uint32_t group;
    uint16_t word;        /* of its allocation */
    uint16_t allocations; /* of the segment up to and including it; 0: freed */
    bool stays;
};

/* An allocation and its free. */
struct pair {
    uint64_t ticks; /* between the two */
    uint32_t group;
    uint16_t allocation, free; /* words */
    uint16_t n_between;        /* blocks allocated in between by the thread */
    bool is_elided;
};

/* Blocks with the same key. */
struct total {
    uint32_t node, free_node, group;
    uint8_t size_class, lifetime_class;
    bool is_temporary;
    uint16_t n;
    uint32_t slack_bytes;
    uint64_t bytes, ticks;
};

struct elide {
    uint64_t max_ns, max_bytes;
    /* state of the call */
    const struct elide_input *input;
    uint64_t max_ticks, margin_ticks, delay_ticks;
    uint32_t thread, group;
    uint32_t epoch;
    uint32_t allocations; /* of the thread so far */
    uint32_t first_word;  /* blocks allocated before it stay */
    uint32_t n_threads;   /* named in the segment */
    uint32_t n_pairs, n_totals;
    uint64_t n_events, n_elided;
    struct pair pairs[PAIRS];
    uint16_t pair_at[WORDS];        /* of the allocation or free at this word: index + 1 */
    uint16_t allocations_at[WORDS]; /* reported before the allocation at this word */
    uint64_t keys[SLOTS];           /* address | epoch of the segment << 48; other epoch: empty */
    struct live_block live[SLOTS];
    struct total totals[PAIRS];
    uint16_t total_slots[SLOTS]; /* index + 1 */
    uint64_t words[WORDS];
};

struct elide *elide_new(uint64_t max_ns, uint64_t max_bytes)
{
    struct elide *elide = calloc(1, sizeof(*elide));

    if (elide) {
        elide->max_ns = max_ns;
        elide->max_bytes = max_bytes;
    }
    return elide;
}

void elide_free(struct elide *elide)
{
    free(elide);
}

static uint64_t address_of(uint64_t word)
{
    return word & ((1ull << LOG_ADDRESS_BITS) - 1);
}

static uint64_t size_of(uint64_t word)
{
    return word & ((1ull << LOG_SIZE_BITS) - 1);
}

static uint64_t time_of(const uint64_t *words)
{
    return (words[0] >> 8 & 0xffffff) | words[1] >> LOG_ADDRESS_BITS << 24;
}

static uint64_t rounded(const struct elide *elide, uint64_t ticks)
{
    return ticks >> elide->input->time_shift << elide->input->time_shift;
}

/* Words of the event at i; 0 if the rest is invalid. */
MTRACE_INLINE uint32_t length_at(const uint64_t *words, uint32_t i, uint32_t n_words)
{
    uint32_t n = log_event_words(words[i] & 255);

    return n <= n_words - i && n != 1 ? n : 0;
}

MTRACE_INLINE bool is_of_block(unsigned kind)
{
    return kind == LOG_ALLOC || kind == LOG_FREE || kind == LOG_ALLOC_WIDE || kind == LOG_REALLOC
           || kind == LOG_REALLOC_WIDE;
}

static bool is_of_pool_or_object(unsigned kind)
{
    return kind == LOG_POOL_ALLOC || kind == LOG_POOL_FREE || kind == LOG_POOL_RESIZE
           || kind == LOG_POOL_END || kind == LOG_OBJECT_WALK || kind == LOG_OBJECT_WARNING
           || kind == LOG_OBJECT_CLAIM || kind == LOG_OBJECT_NODE;
}

/* Readers look at all live blocks here, or the next events are another thread's: totals of before
 * precede it. */
static bool is_barrier(unsigned kind)
{
    switch (kind) {
    case LOG_PHASE:
    case LOG_TRACING:
    case LOG_MARK:
    case LOG_FORK:
    case LOG_END:
    case LOG_EXEC_FAILED:
    case LOG_THREAD:
    case LOG_NEXT_OWNER:
        return true;
    default:
        return false;
    }
}

/* ---- finding pairs --------------------------------------------------------------------------- */

/* The block's slot, or the empty one where it belongs. */
static struct live_block *find_block(struct elide *elide, uint64_t address)
{
    const uint64_t key = address | (uint64_t)elide->epoch << LOG_ADDRESS_BITS;
    uint32_t slot = (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> (64 - SLOTS_LOG2));

    while (elide->keys[slot] != key && elide->keys[slot] >> LOG_ADDRESS_BITS == elide->epoch)
        slot = (slot + 1) & (SLOTS - 1);
    return &elide->live[slot];
}

static bool is_known(const struct elide *elide, const struct live_block *block)
{
    return elide->keys[block - elide->live] >> LOG_ADDRESS_BITS == elide->epoch
           && block->allocations;
}

static void add_block(struct elide *elide, uint64_t address, uint64_t ticks, uint32_t word,
                      bool stays)
{
    struct live_block *block = find_block(elide, address);

    elide->keys[block - elide->live] = address | (uint64_t)elide->epoch << LOG_ADDRESS_BITS;
    *block = (struct live_block){.ticks = ticks,
                                 .group = elide->group,
                                 .word = (uint16_t)word,
                                 .allocations = (uint16_t)++elide->allocations,
                                 .stays = stays};
}

/* CU-3 */
static bool is_one_block(const struct elide *elide, const struct live_block *block)
{
    const struct last_frees *others = elide->input->others;
    uint64_t address = address_of(elide->keys[block - elide->live]);

    return !others
           || last_frees_by_others(others, address, elide->thread) + elide->margin_ticks
                  < block->ticks;
}

static void see_free(struct elide *elide, const uint64_t *words, uint32_t i, uint64_t ticks)
{
    struct live_block *block = find_block(elide, address_of(words[i + 1]));

    if (!is_known(elide, block))
        return;
    uint64_t lived = rounded(elide, ticks) - rounded(elide, block->ticks);
    bool is_elided = !block->stays && block->word >= elide->first_word
                     && block->group == elide->group && lived <= elide->max_ticks
                     && is_one_block(elide, block);

    elide->pairs[elide->n_pairs++] =
        (struct pair){.ticks = lived,
                      .group = block->group,
                      .allocation = block->word,
                      .free = (uint16_t)i,
                      .n_between = (uint16_t)(elide->allocations - block->allocations),
                      .is_elided = is_elided};
    elide->pair_at[block->word] = elide->pair_at[i] = (uint16_t)elide->n_pairs;
    elide->n_elided += is_elided;
    block->allocations = 0;
}

static void see_realloc(struct elide *elide, const uint64_t *words, uint32_t i, uint64_t ticks)
{
    struct live_block *old = find_block(elide, address_of(words[i + 3]));

    if (is_known(elide, old))
        old->allocations = 0;
    if (address_of(words[i + 1]))
        add_block(elide, address_of(words[i + 1]), ticks, i, true);
}

static void see_block_event(struct elide *elide, const uint64_t *words, uint32_t i, uint64_t ticks)
{
    switch (words[i] & 255) {
    case LOG_ALLOC:
        add_block(elide, address_of(words[i + 1]), ticks, i,
                  size_of(words[i + 2]) >= elide->max_bytes || ticks < elide->input->from_ticks);
        break;
    case LOG_FREE:
        see_free(elide, words, i, ticks);
        break;
    case LOG_ALLOC_WIDE:
        add_block(elide, address_of(words[i + 1]), ticks, i, true);
        break;
    default:
        see_realloc(elide, words, i, ticks);
    }
}

static void see_move(struct elide *elide, uint64_t address)
{
    struct live_block *block = find_block(elide, address);

    if (is_known(elide, block))
        block->stays = true; /* it has more than one owner */
}

/* Blocks of before are not known any more. */
static void begin_thread(struct elide *elide, uint32_t thread)
{
    if (++elide->epoch >> (64 - LOG_ADDRESS_BITS)) {
        memset(elide->keys, 0, sizeof(elide->keys));
        elide->epoch = 1;
    }
    elide->thread = thread;
    elide->group = LOG_GROUP_ROOT;
    elide->allocations = 0;
    elide->n_threads++;
}

/* False if the segment is invalid or is not elided. */
static bool find_pairs(struct elide *elide, const uint64_t *words, uint32_t n_words)
{
    uint64_t base = elide->input->segment->base_ticks;
    uint32_t n;

    for (uint32_t i = 0; i < n_words; i += n) {
        unsigned kind = words[i] & 255;
        n = length_at(words, i, n_words);
        if (n == 0 || is_of_pool_or_object(kind))
            return false;
        elide->n_events += !log_event_is_bookkeeping(kind);
        if (mtrace_likely(is_of_block(kind)))
            see_block_event(elide, words, i, base + time_of(words + i));
        else if (kind == LOG_TIME_BASE)
            base = words[i + 1];
        else if (kind == LOG_GROUP)
            elide->group = (uint32_t)(words[i] >> 32);
        else if (kind == LOG_MOVE)
            see_move(elide, address_of(words[i + 1]));
        else if (is_barrier(kind))
            elide->first_word = i;
        if (kind == LOG_THREAD || kind == LOG_NEXT_OWNER)
            begin_thread(elide, kind == LOG_THREAD ? (uint32_t)(words[i] >> 32) : elide->thread);
    }
    return elide->n_elided > 0;
}

/* ---- writing the result ---------------------------------------------------------------------- */

/* The output words. */
struct output {
    uint64_t *at;
    uint64_t *end;                        /* CU-2 */
    uint64_t time[2];                     /* of the previous event, as in its first two words */
    uint32_t allocations;                 /* so far, including elided ones */
    uint32_t n_unreported;                /* elided, but not in a record yet */
    uint64_t live_bytes, most_live_bytes; /* of elided blocks */
    uint64_t base_ticks;
    uint64_t totals_ticks;         /* when the first of the totals was freed */
    uint32_t group, written_group; /* of the next events; and as written so far */
};

/* Room for an event of n words; NULL: there is none. */
static uint64_t *make_room(struct output *output, uint32_t n)
{
    uint64_t *at = output->at;

    if (output->end - at < n)
        return NULL;
    output->at += n;
    return at;
}

static bool put_allocations(struct output *output)
{
    uint64_t bytes = output->most_live_bytes;
    uint64_t *at;

    if (output->n_unreported == 0)
        return true;
    at = make_room(output, log_event_words(LOG_ELIDED_ALLOCATIONS));
    if (!at)
        return false;
    at[0] = LOG_ELIDED_ALLOCATIONS | output->time[0] | (uint64_t)output->n_unreported << 32;
    at[1] = output->time[1] | (bytes >> LOG_ADDRESS_BITS ? address_of(UINT64_MAX) : bytes);
    output->n_unreported = 0;
    return true;
}

static struct total *find_total(struct elide *elide, const struct total *key)
{
    uint64_t hash = ((uint64_t)key->node << 32 | key->free_node) ^ (uint64_t)key->group << 40
                    ^ (uint64_t)key->size_class << 17 ^ (uint64_t)key->lifetime_class << 9
                    ^ key->is_temporary;
    uint32_t slot = (uint32_t)(hash * 0x9e3779b97f4a7c15u >> (64 - SLOTS_LOG2));

    for (; elide->total_slots[slot]; slot = (slot + 1) & (SLOTS - 1)) {
        struct total *total = &elide->totals[elide->total_slots[slot] - 1];
        if (total->node == key->node && total->free_node == key->free_node
            && total->group == key->group && total->size_class == key->size_class
            && total->lifetime_class == key->lifetime_class
            && total->is_temporary == key->is_temporary)
            return total;
    }
    elide->totals[elide->n_totals] = *key;
    elide->total_slots[slot] = (uint16_t)++elide->n_totals;
    return &elide->totals[elide->n_totals - 1];
}

static uint64_t ns_of(const struct elide *elide, uint64_t ticks)
{
    double ns = (double)ticks / elide->input->ticks_per_ns;

    return ns < 0x1p62 ? (uint64_t)ns : UINT64_C(1) << 62;
}

static void add_to_totals(struct elide *elide, const uint64_t *words, const struct pair *pair)
{
    uint64_t word = words[pair->allocation + 2];
    struct total key = {
        .node = (uint32_t)(words[pair->allocation] >> 32),
        .free_node = (uint32_t)(words[pair->free] >> 32),
        .group = pair->group,
        .size_class = (uint8_t)size_class_of(size_of(word)),
        .lifetime_class = (uint8_t)lifetime_class_of(ns_of(elide, pair->ticks)),
        .is_temporary = pair->n_between <= 1,
    };
    struct total *total = find_total(elide, &key);

    total->n++;
    total->bytes += size_of(word);
    total->slack_bytes += (uint32_t)(word >> LOG_SIZE_BITS & ((1u << LOG_SLACK_BITS) - 1));
    total->ticks += pair->ticks;
}

/* False: they do not fit. */
static bool put_totals(struct elide *elide, struct output *output)
{
    for (uint32_t i = 0; i < elide->n_totals; i++) {
        const struct total *total = &elide->totals[i];
        uint64_t *at = make_room(output, log_event_words(LOG_ELIDED));
        if (!at)
            return false;
        at[0] = LOG_ELIDED | output->time[0] | (uint64_t)total->node << 32;
        at[1] = output->time[1] | log_group_code(total->group) | (uint64_t)total->n << 32;
        at[2] = total->free_node | (uint64_t)total->is_temporary << 32
                | (uint64_t)total->slack_bytes << 33;
        at[3] = total->bytes;
        at[4] = ns_of(elide, total->ticks);
    }
    if (elide->n_totals)
        memset(elide->total_slots, 0, sizeof(elide->total_slots));
    elide->n_totals = 0;
    if (!put_allocations(output))
        return false;
    output->most_live_bytes = output->live_bytes;
    return true;
}

static const struct pair *pair_at(const struct elide *elide, uint32_t i)
{
    return elide->pair_at[i] ? &elide->pairs[elide->pair_at[i] - 1] : NULL;
}

/* CU-4: for a block of this segment it matters whether more than one was allocated between its two
 * events. For the others it matters whether at least one was since the segment began, or is until
 * it ends. */
static bool is_due(const struct elide *elide, const struct output *output, const uint64_t *words,
                   uint32_t i)
{
    const struct pair *pair = pair_at(elide, i);
    uint32_t reported = output->allocations - output->n_unreported;

    if ((words[i] & 255) == LOG_FREE && pair)
        return pair->n_between >= 2 && reported - elide->allocations_at[pair->allocation] < 2;
    if ((words[i] & 255) == LOG_FREE)
        return reported < 2;
    if (pair)
        return pair->n_between < 2;
    return elide->n_threads > 1 || elide->allocations - output->allocations <= 2;
}

static void remove_event(struct elide *elide, struct output *output, const uint64_t *words,
                         uint32_t i, const struct pair *pair)
{
    uint64_t bytes = size_of(words[pair->allocation + 2]);

    if (pair->allocation == i) {
        output->allocations++;
        output->n_unreported++;
        output->live_bytes += bytes;
        if (output->live_bytes > output->most_live_bytes)
            output->most_live_bytes = output->live_bytes;
        return;
    }
    output->live_bytes -= bytes;
    if (elide->n_totals == 0)
        output->totals_ticks = output->base_ticks + time_of(words + i);
    add_to_totals(elide, words, pair);
}

/* Writes a group change if needed. False: it does not fit. */
static bool put_group(struct output *output)
{
    uint64_t *at;

    if (output->group == output->written_group)
        return true;
    at = make_room(output, log_event_words(LOG_GROUP));
    if (!at)
        return false;
    at[0] = LOG_GROUP | output->time[0] | (uint64_t)output->group << 32;
    at[1] = output->time[1];
    output->written_group = output->group;
    return true;
}

/* Notes records that determine how to read the next events. True: the record is written later. */
static bool take_bookkeeping(const struct elide *elide, struct output *output,
                             const uint64_t *words)
{
    switch (words[0] & 255) {
    case LOG_GROUP:
        output->group = (uint32_t)(words[0] >> 32);
        if (output->base_ticks + time_of(words) >= elide->input->from_ticks)
            return true;
        output->written_group = output->group; /* CU-5 */
        break;
    case LOG_TIME_BASE:
        output->base_ticks = words[1];
        break;
    case LOG_THREAD:
        output->allocations = 0;
        output->group = output->written_group = LOG_GROUP_ROOT;
        break;
    default:
        break;
    }
    return false;
}

/* Copies an event that stays. False: it does not fit. */
static bool keep(struct elide *elide, struct output *output, const uint64_t *words, uint32_t i,
                 uint32_t n)
{
    unsigned kind = words[i] & 255;
    uint64_t *at;

    if (take_bookkeeping(elide, output, words + i))
        return true;
    if (is_of_block(kind)) {
        if (output->n_unreported && is_due(elide, output, words, i) && !put_allocations(output))
            return false;
        if (kind != LOG_FREE && address_of(words[i + 1])) {
            output->allocations++;
            elide->allocations_at[i] = (uint16_t)(output->allocations - output->n_unreported);
        }
    }
    if (!log_event_is_bookkeeping(kind) && !put_group(output))
        return false;
    at = make_room(output, n);
    if (at)
        memcpy(at, words + i, n * sizeof(*words));
    return at != NULL;
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

/* The totals so far precede this event. */
static bool is_totals_due(const struct elide *elide, const struct output *output,
                          const uint64_t *words)
{
    unsigned kind = words[0] & 255;

    if (elide->n_totals == 0 && output->n_unreported == 0)
        return false;
    return is_barrier(kind)
           || (is_of_block(kind) && elide->n_totals
               && output->base_ticks + time_of(words) - output->totals_ticks > elide->delay_ticks);
}

/* Copies the events that stay; returns the number of words, 0: CU-2 would be violated. */
static uint32_t rewrite(struct elide *elide, const uint64_t *words, uint32_t n_words)
{
    struct output output = {.at = elide->words,
                            .end = elide->words + WORDS,
                            .base_ticks = elide->input->segment->base_ticks,
                            .group = LOG_GROUP_ROOT,
                            .written_group = LOG_GROUP_ROOT};
    bool has_room = true;
    uint32_t n;

    for (uint32_t i = 0; has_room && i < n_words; i += n) {
        const struct pair *pair = is_of_block(words[i] & 255) ? pair_at(elide, i) : NULL;
        n = length_at(words, i, n_words);
        if (is_totals_due(elide, &output, words + i))
            has_room = put_totals(elide, &output);
        if (pair && pair->is_elided)
            remove_event(elide, &output, words, i, pair);
        else
            has_room = has_room && keep(elide, &output, words, i, n);
        take_time(&output, words + i);
    }
    return has_room && put_totals(elide, &output) ? (uint32_t)(output.at - elide->words) : 0;
}

/* At most some days, so that sums of a segment do not overflow. */
static uint64_t ticks_of(const struct elide *elide, uint64_t ns)
{
    double ticks = (double)ns * elide->input->ticks_per_ns;

    return ticks < 0x1p50 ? (uint64_t)ticks : UINT64_C(1) << 50;
}

static void begin_segment(struct elide *elide, const struct elide_input *input)
{
    elide->input = input;
    elide->max_ticks = ticks_of(elide, elide->max_ns);
    elide->margin_ticks = ticks_of(elide, ELIDE_MARGIN_NS);
    elide->delay_ticks = ticks_of(elide, ELIDE_DELAY_NS);
    elide->n_pairs = elide->first_word = elide->n_threads = 0;
    elide->n_events = elide->n_elided = 0;
    begin_thread(elide, input->segment->thread);
    memset(elide->pair_at, 0, input->n_bytes);
    if (elide->n_totals) /* they did not fit */
        memset(elide->total_slots, 0, sizeof(elide->total_slots));
    elide->n_totals = 0;
}

void elide_segment(struct elide *elide, const struct elide_input *input,
                   struct elide_result *ret_result)
{
    const uint64_t *words = input->payload;
    uint32_t n_words = input->n_bytes / 8;
    uint32_t n_kept = 0;

    *ret_result = (struct elide_result){.payload = words, .n_bytes = input->n_bytes};
    if (!(input->ticks_per_ns > 0))
        return;
    begin_segment(elide, input);
    if (find_pairs(elide, words, n_words))
        n_kept = rewrite(elide, words, n_words);
    if (n_kept)
        *ret_result = (struct elide_result){.payload = elide->words,
                                            .n_bytes = n_kept * 8,
                                            .n_elided = elide->n_elided,
                                            .n_events = elide->n_events};
}
