/* SPDX-License-Identifier: MIT */
#include "lib/abi/varint.h"
#include "lib/logfile/columns.h"

static const uint64_t address_mask = (1ull << LOG_ADDRESS_BITS) - 1;
static const uint64_t time_mask = (1ull << LOG_TIME_BITS) - 1;

struct decoder {
    struct predictor *predictor;
    const uint8_t *at[COLUMN_COUNT];
    const uint8_t *ends[COLUMN_COUNT];
    uint64_t base;
    uint64_t last_tick; /* of the last event, in units of 1 << shift ticks */
    uint64_t last_new_address;
    uint64_t last_old_address;
    uint32_t last_new_node;
    unsigned shift;
    uint8_t last_flags[8]; /* read last, by kind >> 5 */
};

static bool get(struct decoder *decoder, enum column column, uint64_t *ret_value)
{
    const uint8_t *next = varint_get(decoder->at[column], decoder->ends[column], ret_value);

    if (!next)
        return false;
    decoder->at[column] = next;
    return true;
}

static bool get_byte(struct decoder *decoder, enum column column, uint8_t *ret_value)
{
    if (decoder->at[column] == decoder->ends[column])
        return false;
    *ret_value = *decoder->at[column]++;
    return true;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Reads the delta of an event and computes its time relative to the base. */
static bool get_time(struct decoder *decoder, uint64_t *ret_time)
{
    uint64_t more = 0;
    uint8_t byte;
    uint8_t low;

    if (!get_byte(decoder, COLUMN_TIME, &byte))
        return false;
    if (byte < TIME_DIRECT) {
        decoder->last_tick += byte;
    } else if (byte < TIME_FAR) {
        if (!get_byte(decoder, COLUMN_TIME_MORE, &low))
            return false;
        decoder->last_tick += (uint64_t)(byte - TIME_DIRECT) << 8 | low;
    } else {
        if (!get(decoder, COLUMN_TIME_MORE, &more))
            return false;
        decoder->last_tick += (uint64_t)zigzag_decode(more);
    }
    *ret_time = (decoder->last_tick << decoder->shift) - decoder->base;
    return *ret_time <= time_mask;
}

static void store_head(uint64_t *words, uint64_t head, uint64_t address, uint64_t time)
{
    words[0] = head | (time & 0xffffff) << 8;
    words[1] = address | time >> 24 << LOG_ADDRESS_BITS;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool get_place(struct decoder *decoder, uint32_t *ret_block)
{
    uint32_t n_records = decoder->predictor->blocks.n_records;
    uint64_t distance;

    if (!get(decoder, COLUMN_PLACE, &distance) || distance >= n_records)
        return false;
    *ret_block = n_records - (uint32_t)distance;
    return true;
}

static bool get_near(struct decoder *decoder, uint64_t *last, uint32_t *ret_block)
{
    uint64_t value;
    uint64_t low = 0;
    bool is_new;

    if (!get(decoder, COLUMN_ADDRESS, &value))
        return false;
    if ((value & 1) && !get(decoder, COLUMN_ADDRESS, &low))
        return false;
    *last = ((*last >> 4) + (uint64_t)zigzag_decode(value >> 1)) << 4 | (low & 15);
    *last &= address_mask;
    *ret_block = block_memory_get(&decoder->predictor->blocks, *last, &is_new);
    return true;
}

static bool guess_new(struct block_memory *blocks, unsigned guess, uint64_t usable_bytes,
                      uint32_t *ret_block)
{
    bool is_new;

    if (guess == BLOCK_NEW_CARVED) {
        if (blocks->carved_end > address_mask)
            return false;
        *ret_block = block_memory_get(blocks, blocks->carved_end, &is_new);
    } else {
        *ret_block = block_memory_guess_new(blocks, guess, usable_bytes);
    }
    return block_memory_is_record(*ret_block);
}

static bool guess_old(const struct block_memory *blocks, unsigned guess, uint32_t *ret_block)
{
    *ret_block = block_memory_guess_old(blocks, guess);
    return block_memory_is_record(*ret_block);
}

static bool get_old(struct decoder *decoder, unsigned code, uint32_t *ret_block)
{
    if (code == OP_PLACE)
        return get_place(decoder, ret_block);
    if (code == OP_NEAR)
        return get_near(decoder, &decoder->last_old_address, ret_block);
    return code < BLOCK_OLD_GUESSES && guess_old(&decoder->predictor->blocks, code, ret_block);
}

static bool get_new(struct decoder *decoder, unsigned code, uint64_t usable_bytes,
                    uint32_t *ret_block)
{
    if (code == OP_PLACE)
        return get_place(decoder, ret_block);
    if (code == OP_NEAR)
        return get_near(decoder, &decoder->last_new_address, ret_block);
    return code < BLOCK_NEW_GUESSES
           && guess_new(&decoder->predictor->blocks, code, usable_bytes, ret_block);
}

/* ---- allocations and frees ------------------------------------------------------------------- */

/* Decodes one predicted event and returns its words. */
static size_t decode_expected(struct decoder *decoder, uint64_t *words, size_t n_left)
{
    struct predictor *predictor = decoder->predictor;
    struct block_memory *blocks = &predictor->blocks;
    uint16_t *pair = predictor_pair(predictor);
    uint32_t index = *pair;
    const struct predictor_node *node = &predictor->nodes[index];
    unsigned kind = node->head & 255;
    size_t n = log_event_words(kind);
    uint64_t time;
    uint32_t block;

    if (index == 0 || n > n_left || !get_time(decoder, &time))
        return 0;
    if (kind == LOG_FREE) {
        if (!guess_old(blocks, node->guess, &block))
            return 0;
        block_memory_freed(blocks, block);
    } else if (kind == LOG_ALLOC) {
        if (!guess_new(blocks, node->guess, predictor_usable(node->call), &block))
            return 0;
        block_memory_allocated(blocks, block, predictor_usable(node->call));
        words[2] = node->call;
    } else {
        return 0;
    }
    store_head(words, node->head, blocks->records[block].address, time);
    predictor_follow(predictor, pair, index);
    return n;
}

static size_t decode_run(struct decoder *decoder, unsigned n_events, uint64_t *words,
                         size_t n_words)
{
    size_t i = 0;

    while (n_events-- > 0) {
        size_t n = decode_expected(decoder, words + i, n_words - i);
        if (n == 0)
            return 0;
        i += n;
    }
    return i;
}

static bool get_written_node(struct decoder *decoder, uint32_t *ret_index)
{
    uint64_t value;

    if (!get(decoder, COLUMN_NODE, &value) || value > decoder->predictor->n_nodes)
        return false;
    *ret_index = (uint32_t)value;
    if (value)
        return true;
    if (!get(decoder, COLUMN_NODE, &value))
        return false;
    decoder->last_new_node += (uint32_t)zigzag_decode(value);
    *ret_index = predictor_add(decoder->predictor, decoder->last_new_node);
    return *ret_index != 0;
}

static bool get_node(struct decoder *decoder, unsigned op)
{
    struct predictor *predictor = decoder->predictor;
    uint16_t *pair = predictor_pair(predictor);
    uint32_t index = *pair;

    if ((op & OP_NODE_MASK) == OP_AFTER_ONE)
        index = predictor->nodes[predictor->last].next;
    if ((op & OP_NODE_MASK) == OP_WRITTEN && !get_written_node(decoder, &index))
        return false;
    if (index == 0)
        return false;
    predictor_follow(predictor, pair, index);
    return true;
}

static bool get_kind(struct decoder *decoder, unsigned op, const struct predictor_node *node,
                     unsigned *ret_kind, unsigned *ret_flags)
{
    uint8_t kind = node->head & 255;
    uint8_t flags = (uint8_t)predictor_flags(node->call);

    if (op & OP_KIND_MISS) {
        uint8_t *last_flags;
        if (!get_byte(decoder, COLUMN_KIND, &kind))
            return false;
        last_flags = &decoder->last_flags[kind >> 5];
        if ((kind & KIND_FLAGS) && !get_byte(decoder, COLUMN_KIND, last_flags))
            return false;
        kind &= (uint8_t)~KIND_FLAGS;
        flags = *last_flags;
    }
    *ret_kind = kind;
    *ret_flags = flags;
    return kind == LOG_FREE || kind == LOG_ALLOC || kind == LOG_REALLOC;
}

/* Reads word 2 of an allocation. */
static bool get_call(struct decoder *decoder, unsigned op, const struct predictor_node *node,
                     unsigned flags, uint64_t *ret_call)
{
    uint64_t size = predictor_size(node->call);
    uint64_t slack;

    if ((op & OP_SIZE_MISS) && !get(decoder, COLUMN_SIZE, &size))
        return false;
    slack = predictor_slack(size, flags);
    if ((op & OP_SLACK_MISS) && !get(decoder, COLUMN_SLACK, &slack))
        return false;
    *ret_call = size | slack << LOG_SIZE_BITS | (uint64_t)flags << (LOG_SIZE_BITS + LOG_SLACK_BITS);
    return size < 1ull << LOG_SIZE_BITS && slack < 1u << LOG_SLACK_BITS;
}

static uint64_t clamped_duration(const struct decoder *decoder, uint64_t units)
{
    uint64_t limit = (1u << LOG_DURATION_BITS) - 1;

    return units > limit >> decoder->shift ? limit : units << decoder->shift;
}

/* Reads the old block of a realloc, and word 3. */
static bool get_realloc(struct decoder *decoder, uint64_t *words, uint32_t *ret_block)
{
    uint64_t duration;
    uint8_t code;

    if (!get_byte(decoder, COLUMN_OP, &code) || !get_old(decoder, code, ret_block)
        || !get(decoder, COLUMN_TIME_MORE, &duration))
        return false;
    words[3] = decoder->predictor->blocks.records[*ret_block].address
               | clamped_duration(decoder, duration) << LOG_ADDRESS_BITS;
    return true;
}

static bool decode_free(struct decoder *decoder, unsigned op, struct predictor_node *node,
                        uint32_t *ret_block)
{
    unsigned code = op >> OP_OLD_SHIFT & OP_ADDRESS_MASK;

    if (!get_old(decoder, code, ret_block))
        return false;
    block_memory_freed(&decoder->predictor->blocks, *ret_block);
    if (code < BLOCK_OLD_GUESSES)
        node->guess = (uint16_t)code;
    return true;
}

static bool decode_allocation(struct decoder *decoder, unsigned op, unsigned kind, unsigned flags,
                              struct predictor_node *node, uint64_t *words, uint32_t *ret_block)
{
    struct block_memory *blocks = &decoder->predictor->blocks;
    unsigned code = op >> OP_NEW_SHIFT;
    bool is_realloc = kind == LOG_REALLOC;
    uint32_t old_block = 0;

    if (!get_call(decoder, op, node, flags, &words[2]))
        return false;
    if (is_realloc && !get_realloc(decoder, words, &old_block))
        return false;
    *ret_block = old_block;
    if (code == OP_SAME ? !is_realloc
                        : !get_new(decoder, code, predictor_usable(words[2]), ret_block))
        return false;
    if (is_realloc)
        block_memory_freed(blocks, old_block);
    block_memory_allocated(blocks, *ret_block, predictor_usable(words[2]));
    node->call = words[2];
    if (code < BLOCK_NEW_GUESSES)
        node->guess = (uint16_t)code;
    return true;
}

static size_t decode_narrow(struct decoder *decoder, unsigned op, uint64_t *words, size_t n_left)
{
    struct predictor_node *node;
    unsigned kind;
    unsigned flags;
    uint64_t time;
    uint32_t block;

    if (!get_node(decoder, op))
        return 0;
    node = &decoder->predictor->nodes[decoder->predictor->last];
    if (!get_kind(decoder, op, node, &kind, &flags) || log_event_words(kind) > n_left)
        return 0;
    if (kind == LOG_FREE ? !decode_free(decoder, op, node, &block)
                         : !decode_allocation(decoder, op, kind, flags, node, words, &block))
        return 0;
    if (!get_time(decoder, &time))
        return 0;
    node->head = (node->head >> 32 << 32) | kind;
    store_head(words, node->head, decoder->predictor->blocks.records[block].address, time);
    return log_event_words(kind);
}

/* ---- everything else ------------------------------------------------------------------------- */

static size_t decode_raw_untimed(struct decoder *decoder, unsigned kind, uint64_t *words,
                                 size_t n_left)
{
    uint64_t value;
    size_t n = log_event_words(kind);

    if (n > n_left || !get(decoder, COLUMN_RAW, &value))
        return 0;
    words[0] = kind | value << 8;
    if (kind == LOG_TIME_BASE) {
        if (!get(decoder, COLUMN_RAW, &value))
            return 0;
        words[1] = value << decoder->shift;
        decoder->base = words[1];
    }
    return n;
}

/* Reads the rest of an event that has its length in its third word, and returns its words; 0: not
 * such an event. */
static size_t get_long(struct decoder *decoder, uint64_t *words, size_t n_left)
{
    size_t n = words[2] & 0xffff;

    if (n < 3 || n > n_left || n > LOG_EVENT_MAX_WORDS)
        return 0;
    for (size_t i = 3; i < n; i++)
        if (!get(decoder, COLUMN_RAW, &words[i]))
            return 0;
    return n;
}

static size_t decode_raw(struct decoder *decoder, uint64_t *words, size_t n_left)
{
    uint64_t node;
    uint64_t address;
    uint64_t time;
    uint8_t kind;
    size_t n;

    if (!get_byte(decoder, COLUMN_RAW, &kind))
        return 0;
    n = log_event_words(kind);
    if (kind == LOG_TIME_BASE || n == 1)
        return decode_raw_untimed(decoder, kind, words, n_left);
    if (!get(decoder, COLUMN_RAW, &node) || !get(decoder, COLUMN_RAW, &address)
        || n_left < (n ? n : 3))
        return 0;
    for (size_t i = 2; i < (n ? n : 3); i++)
        if (!get(decoder, COLUMN_RAW, &words[i]))
            return 0;
    if (n == 0)
        n = get_long(decoder, words, n_left);
    if (n == 0 || !get_time(decoder, &time))
        return 0;
    store_head(words, kind | node << 32, address & address_mask, time);
    return n;
}

static size_t decode_op(struct decoder *decoder, unsigned op, uint64_t *words, size_t n_left)
{
    if ((op & OP_NODE_MASK) != OP_RUN)
        return decode_narrow(decoder, op, words, n_left);
    if (op >> OP_RUN_SHIFT)
        return decode_run(decoder, op >> OP_RUN_SHIFT, words, n_left);
    return decode_raw(decoder, words, n_left);
}

bool columns_decode(struct predictor *predictor, const struct column_bytes *in, uint64_t *words,
                    size_t n_words, uint64_t base_ticks, unsigned time_shift)
{
    struct decoder decoder = {.predictor = predictor, .base = base_ticks, .shift = time_shift};
    uint8_t op;
    size_t n;

    if (time_shift > COLUMNS_MAX_TIME_SHIFT || base_ticks & ((1ull << time_shift) - 1))
        return false;
    decoder.last_tick = base_ticks >> time_shift;
    predictor_clear(predictor);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        decoder.at[i] = in->at[i];
        decoder.ends[i] = in->at[i] + in->n_bytes[i];
    }
    for (size_t i = 0; i < n_words; i += n) {
        if (!get_byte(&decoder, COLUMN_OP, &op))
            return false;
        n = decode_op(&decoder, op, words + i, n_words - i);
        if (n == 0)
            return false;
    }
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (decoder.at[i] != decoder.ends[i])
            return false;
    return true;
}
