/* SPDX-License-Identifier: MIT */
#include "lib/abi/varint.h"
#include "lib/logfile/columns.h"

static const uint64_t address_mask = (1ull << LOG_ADDRESS_BITS) - 1;
static const uint64_t time_mask = (1ull << LOG_TIME_BITS) - 1;

struct encoder {
    struct predictor *predictor;
    uint8_t *at[COLUMN_COUNT];
    uint64_t base;
    uint64_t latest;    /* from the base; a later time does not fit after rounding */
    uint64_t last_tick; /* of the last event, in units of 1 << shift ticks */
    uint64_t last_new_address;
    uint64_t last_old_address;
    uint32_t last_new_node;
    unsigned shift;
    uint8_t last_flags[8]; /* written last, by kind >> 5 */
};

/* Most take one byte or two, at random: both are stored, so that no branch is mispredicted. */
static inline void put(struct encoder *encoder, enum column column, uint64_t value)
{
    uint8_t *at = encoder->at[column];
    unsigned has_two = value >= 0x80;

    if (value >= 1u << 14) {
        encoder->at[column] = varint_put(at, value);
        return;
    }
    at[0] = (uint8_t)(value | has_two << 7);
    at[1] = (uint8_t)(value >> 7);
    encoder->at[column] = at + 1 + has_two;
}

static void put_byte(struct encoder *encoder, enum column column, unsigned value)
{
    *encoder->at[column]++ = (uint8_t)value;
}

/* ---- times ----------------------------------------------------------------------------------- */

static void set_base(struct encoder *encoder, uint64_t base_ticks)
{
    uint64_t lost = base_ticks & ((1ull << encoder->shift) - 1);

    encoder->base = base_ticks;
    encoder->latest = time_mask - lost;
    if (encoder->latest > UINT64_MAX - base_ticks)
        encoder->latest = UINT64_MAX - base_ticks;
}

static uint64_t event_time(const uint64_t *words)
{
    return (words[0] >> 8 & 0xffffff) | words[1] >> LOG_ADDRESS_BITS << 24;
}

/* The low byte of a second one is always stored, and counts only if it is needed. */
static inline void put_time(struct encoder *encoder, uint64_t time)
{
    uint64_t tick = (encoder->base + time) >> encoder->shift;
    uint64_t delta = tick - encoder->last_tick;
    unsigned has_more = delta >= TIME_DIRECT;

    encoder->last_tick = tick;
    if (delta >= TIME_NEAR_LIMIT) {
        put_byte(encoder, COLUMN_TIME, TIME_FAR);
        put(encoder, COLUMN_TIME_MORE, zigzag_encode((int64_t)delta));
        return;
    }
    put_byte(encoder, COLUMN_TIME, (unsigned)(has_more ? TIME_DIRECT + (delta >> 8) : delta));
    *encoder->at[COLUMN_TIME_MORE] = (uint8_t)delta;
    encoder->at[COLUMN_TIME_MORE] += has_more;
}

/* ---- predicted events ------------------------------------------------------------------------ */

/* The record of the address if this guess for a new one is right; else a head. */
static inline uint32_t match_new(struct block_memory *blocks, unsigned guess, uint64_t address,
                                 uint64_t usable_bytes)
{
    uint32_t block;
    bool is_new;

    if (guess == BLOCK_NEW_CARVED)
        return address == blocks->carved_end ? block_memory_get(blocks, address, &is_new)
                                             : (uint32_t)BLOCK_LIST_LIVE;
    block = block_memory_guess_new(blocks, guess, usable_bytes);
    return blocks->records[block].address == address ? block : (uint32_t)BLOCK_LIST_LIVE;
}

/* Gives the event at words[0], of which three words can be read, to the predictor if it is as
 * predicted. */
static inline bool take_expected(struct predictor *predictor, const uint64_t *words)
{
    struct block_memory *blocks = &predictor->blocks;
    uint16_t *pair = predictor_pair(predictor);
    uint32_t index = *pair;
    const struct predictor_node *node = &predictor->nodes[index];
    uint64_t address = words[1] & address_mask;
    uint32_t block;

    if ((words[0] & PREDICTOR_HEAD_MASK) != node->head)
        return false;
    if ((node->head & 255) == LOG_FREE) {
        block = block_memory_guess_old(blocks, node->guess);
        if (blocks->records[block].address != address)
            return false;
        block_memory_freed(blocks, block);
    } else if ((node->head & 255) == LOG_ALLOC && words[2] == node->call) {
        uint64_t usable_bytes = predictor_usable(words[2]);
        block = match_new(blocks, node->guess, address, usable_bytes);
        if (!block_memory_is_record(block))
            return false;
        block_memory_allocated(blocks, block, usable_bytes);
    } else {
        return false;
    }
    predictor_follow(predictor, pair, index);
    return true;
}

static void put_run(struct encoder *encoder, size_t n)
{
    for (; n > OP_RUN_MAX; n -= OP_RUN_MAX)
        put_byte(encoder, COLUMN_OP, OP_RUN | OP_RUN_MAX << OP_RUN_SHIFT);
    if (n)
        put_byte(encoder, COLUMN_OP, OP_RUN | (unsigned)n << OP_RUN_SHIFT);
}

/* Encodes all predicted events from words[0] on; returns their words. */
static size_t encode_expected(struct encoder *encoder, const uint64_t *words, size_t n_words,
                              uint64_t *n_events)
{
    size_t n = 0;
    size_t i = 0;

    while (n_words - i >= 3 && event_time(words + i) <= encoder->latest
           && take_expected(encoder->predictor, words + i)) {
        put_time(encoder, event_time(words + i));
        i += (words[i] & 255) == LOG_FREE ? 2 : 3;
        n++;
    }
    put_run(encoder, n);
    *n_events += n;
    return i;
}

/* ---- other allocations and frees ------------------------------------------------------------- */

static bool is_at(const struct predictor *predictor, uint32_t index, uint32_t node)
{
    return index != 0 && predictor->nodes[index].head >> 32 == node;
}

/* COLUMN_NODE: 0 and the distance to the last new node, or the index of a known one. */
static unsigned put_node(struct encoder *encoder, uint32_t node)
{
    struct predictor *predictor = encoder->predictor;
    uint16_t *pair = predictor_pair(predictor);
    uint32_t index = *pair;
    unsigned how = OP_AFTER_PAIR;

    if (!is_at(predictor, index, node)) {
        index = predictor->nodes[predictor->last].next;
        how = OP_AFTER_ONE;
    }
    if (!is_at(predictor, index, node)) {
        uint16_t *slot = predictor_find(predictor, node);
        how = OP_WRITTEN;
        put(encoder, COLUMN_NODE, *slot);
        if (*slot == 0) {
            put(encoder, COLUMN_NODE,
                zigzag_encode((int64_t)node - (int64_t)encoder->last_new_node));
            encoder->last_new_node = node;
            *slot = (uint16_t)predictor_add(predictor, node);
        }
        index = *slot;
    }
    predictor_follow(predictor, pair, index);
    return how;
}

static unsigned put_kind(struct encoder *encoder, const struct predictor_node *node,
                         const uint64_t *words)
{
    unsigned kind = words[0] & 255;
    unsigned flags = kind == LOG_FREE ? 0 : predictor_flags(words[2]);

    if ((node->head & 255) == kind && (kind == LOG_FREE || predictor_flags(node->call) == flags))
        return 0;
    if (flags == encoder->last_flags[kind >> 5]) {
        put_byte(encoder, COLUMN_KIND, kind);
    } else {
        put_byte(encoder, COLUMN_KIND, kind | KIND_FLAGS);
        put_byte(encoder, COLUMN_KIND, flags);
        encoder->last_flags[kind >> 5] = (uint8_t)flags;
    }
    return OP_KIND_MISS;
}

static unsigned put_size(struct encoder *encoder, const struct predictor_node *node, uint64_t call)
{
    uint64_t size = predictor_size(call);
    uint64_t slack = predictor_given_slack(call);
    unsigned op = 0;

    if (predictor_size(node->call) != size) {
        put(encoder, COLUMN_SIZE, size);
        op |= OP_SIZE_MISS;
    }
    if (predictor_slack(size, predictor_flags(call)) != slack) {
        put(encoder, COLUMN_SLACK, slack);
        op |= OP_SLACK_MISS;
    }
    return op;
}

/* An address that no guess found: its place, or its distance in steps of 16. The lowest bits are
 * added if they are not zero. */
static unsigned put_address(struct encoder *encoder, uint64_t address, uint64_t *last,
                            uint32_t *ret_block)
{
    struct block_memory *blocks = &encoder->predictor->blocks;
    uint64_t distance;
    bool is_new;

    *ret_block = block_memory_get(blocks, address, &is_new);
    if (!is_new) {
        put(encoder, COLUMN_PLACE, blocks->n_records - *ret_block);
        return OP_PLACE;
    }
    distance = zigzag_encode((int64_t)(address >> 4) - (int64_t)(*last >> 4));
    put(encoder, COLUMN_ADDRESS, distance << 1 | ((address & 15) != 0));
    if (address & 15)
        put(encoder, COLUMN_ADDRESS, address & 15);
    *last = address;
    return OP_NEAR;
}

/* Which of the four is right cannot be predicted: all are compared, and the first match is
 * taken. */
static unsigned put_new(struct encoder *encoder, uint64_t address, uint64_t usable_bytes,
                        uint32_t *ret_block)
{
    struct block_memory *blocks = &encoder->predictor->blocks;
    uint32_t guesses[BLOCK_NEW_GUESSES];
    unsigned matches = (unsigned)(blocks->carved_end == address) << BLOCK_NEW_CARVED;
    unsigned first;
    bool is_new;

    for (unsigned guess = 0; guess < BLOCK_NEW_GUESSES; guess++) {
        guesses[guess] = block_memory_guess_new(blocks, guess, usable_bytes);
        if (guess != BLOCK_NEW_CARVED)
            matches |= (unsigned)(blocks->records[guesses[guess]].address == address) << guess;
    }
    if (matches == 0)
        return put_address(encoder, address, &encoder->last_new_address, ret_block);
    first = (unsigned)__builtin_ctz(matches);
    *ret_block = guesses[first];
    if (first == BLOCK_NEW_CARVED)
        *ret_block = block_memory_get(blocks, address, &is_new);
    return first;
}

static unsigned put_old(struct encoder *encoder, uint64_t address, uint32_t *ret_block)
{
    struct block_memory *blocks = &encoder->predictor->blocks;
    uint32_t guesses[BLOCK_OLD_GUESSES];
    unsigned matches = 0;

    for (unsigned guess = 0; guess < BLOCK_OLD_GUESSES; guess++) {
        guesses[guess] = block_memory_guess_old(blocks, guess);
        matches |= (unsigned)(blocks->records[guesses[guess]].address == address) << guess;
    }
    if (matches == 0)
        return put_address(encoder, address, &encoder->last_old_address, ret_block);
    *ret_block = guesses[__builtin_ctz(matches)];
    return (unsigned)__builtin_ctz(matches);
}

/* The call began this many units before the event's own rounded time. */
static uint64_t rounded_duration(const struct encoder *encoder, const uint64_t *words,
                                 uint64_t duration)
{
    uint64_t absolute = encoder->base + event_time(words);

    return (absolute >> encoder->shift) - ((absolute - duration) >> encoder->shift);
}

/* Writes the old block of a realloc, with an op byte of its own. */
static void put_realloc(struct encoder *encoder, const uint64_t *words, uint32_t *ret_block)
{
    uint8_t *op = encoder->at[COLUMN_OP]++;

    *op = (uint8_t)put_old(encoder, words[3] & address_mask, ret_block);
    put(encoder, COLUMN_TIME_MORE, rounded_duration(encoder, words, words[3] >> LOG_ADDRESS_BITS));
}

static unsigned encode_free(struct encoder *encoder, struct predictor_node *node, uint64_t address)
{
    uint32_t block;
    unsigned code = put_old(encoder, address, &block);

    block_memory_freed(&encoder->predictor->blocks, block);
    if (code < BLOCK_OLD_GUESSES)
        node->guess = (uint16_t)code;
    return code << OP_OLD_SHIFT;
}

static unsigned encode_allocation(struct encoder *encoder, struct predictor_node *node,
                                  const uint64_t *words)
{
    struct block_memory *blocks = &encoder->predictor->blocks;
    uint64_t address = words[1] & address_mask;
    uint64_t usable_bytes = predictor_usable(words[2]);
    unsigned bits = put_size(encoder, node, words[2]);
    unsigned code = OP_SAME;
    uint32_t block;
    uint32_t old_block = 0;
    bool is_realloc = (words[0] & 255) == LOG_REALLOC;

    if (is_realloc)
        put_realloc(encoder, words, &old_block);
    block = old_block;
    if (!is_realloc || address != (words[3] & address_mask))
        code = put_new(encoder, address, usable_bytes, &block);
    if (is_realloc)
        block_memory_freed(blocks, old_block);
    block_memory_allocated(blocks, block, usable_bytes);
    node->call = words[2];
    if (code < BLOCK_NEW_GUESSES)
        node->guess = (uint16_t)code;
    return bits | code << OP_NEW_SHIFT;
}

static void encode_narrow(struct encoder *encoder, const uint64_t *words)
{
    uint8_t *op = encoder->at[COLUMN_OP]++;
    unsigned bits = put_node(encoder, (uint32_t)(words[0] >> 32));
    struct predictor_node *node = &encoder->predictor->nodes[encoder->predictor->last];

    bits |= put_kind(encoder, node, words);
    if ((words[0] & 255) == LOG_FREE)
        bits |= encode_free(encoder, node, words[1] & address_mask);
    else
        bits |= encode_allocation(encoder, node, words);
    node->head = words[0] & PREDICTOR_HEAD_MASK;
    *op = (uint8_t)bits;
    put_time(encoder, event_time(words));
}

/* ---- everything else ------------------------------------------------------------------------- */

/* Word 2: the beginning of a long realloc is rounded like its end, so it stays after earlier events
 * of its thread. */
static uint64_t rounded_wide(const struct encoder *encoder, const uint64_t *words)
{
    uint64_t duration = words[2] >> 8;

    if ((words[0] & 255) != LOG_REALLOC_WIDE || duration > encoder->base + event_time(words))
        return words[2];
    return (words[2] & 255) | rounded_duration(encoder, words, duration) << encoder->shift << 8;
}

/* COLUMN_RAW: kind, then node, address and the other words; the time as for all. */
static void encode_raw(struct encoder *encoder, const uint64_t *words, size_t n_words)
{
    unsigned kind = words[0] & 255;

    put_byte(encoder, COLUMN_OP, OP_RUN);
    put_byte(encoder, COLUMN_RAW, kind);
    if (kind == LOG_TIME_BASE || n_words == 1) {
        put(encoder, COLUMN_RAW, words[0] >> 8);
        if (kind == LOG_TIME_BASE) {
            put(encoder, COLUMN_RAW, words[1] >> encoder->shift);
            set_base(encoder, words[1]);
        }
        return;
    }
    put(encoder, COLUMN_RAW, words[0] >> 32);
    put(encoder, COLUMN_RAW, words[1] & address_mask);
    for (size_t i = 2; i < n_words; i++)
        put(encoder, COLUMN_RAW, i == 2 ? rounded_wide(encoder, words) : words[i]);
    put_time(encoder, event_time(words));
}

/* Words of the event at words[0]; 0 if it reaches beyond the n_left words. */
static size_t event_length(const uint64_t *words, size_t n_left)
{
    size_t n = log_event_words(words[0] & 255);

    if (n == 0 && n_left > 2)
        n = words[2] & 0xffff;
    if (n > n_left || n > LOG_EVENT_MAX_WORDS || (log_event_words(words[0] & 255) == 0 && n < 3))
        return 0;
    return n;
}

/* Encodes an event and returns its words; 0 if it cannot be encoded. */
static size_t encode_event(struct encoder *encoder, const uint64_t *words, size_t n_left)
{
    unsigned kind = words[0] & 255;
    size_t n = event_length(words, n_left);

    if (n == 0 || (n > 1 && kind != LOG_TIME_BASE && event_time(words) > encoder->latest))
        return 0;
    if (kind == LOG_FREE || kind == LOG_ALLOC || kind == LOG_REALLOC)
        encode_narrow(encoder, words);
    else
        encode_raw(encoder, words, n);
    return n;
}

bool columns_encode(struct columns *columns, const uint64_t *words, size_t n_words,
                    uint64_t base_ticks, unsigned time_shift)
{
    struct encoder encoder = {.predictor = &columns->predictor,
                              .shift = time_shift,
                              .last_tick = base_ticks >> time_shift};

    predictor_clear(encoder.predictor);
    set_base(&encoder, base_ticks);
    columns->n_events = 0;
    for (int i = 0; i < COLUMN_COUNT; i++)
        columns->encoded.at[i] = encoder.at[i] = columns->bytes[i];
    for (size_t i = 0; i < n_words;) {
        size_t n;
        i += encode_expected(&encoder, words + i, n_words - i, &columns->n_events);
        if (i == n_words)
            break;
        n = encode_event(&encoder, words + i, n_words - i);
        if (n == 0)
            return false;
        columns->n_events += !log_event_is_bookkeeping(words[i] & 255);
        i += n;
    }
    for (int i = 0; i < COLUMN_COUNT; i++)
        columns->encoded.n_bytes[i] = (size_t)(encoder.at[i] - columns->bytes[i]);
    return true;
}
