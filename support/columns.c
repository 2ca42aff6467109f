/* SPDX-License-Identifier: MIT */
#include "support/columns.h"

#include "common/varint.h"

#include <string.h>

/*
 * The op byte. Bits 0-1: how the node is found. Bit 2: kind or flags are not the node's last.
 * Allocations: bit 3 size is not the node's last, bit 4 slack is not glibc's, bits 5-7 the address.
 * Frees: bits 3-5 the address. Reallocs: as allocations; the old address has an op byte of its own.
 */
enum {
    NODE_AFTER_PAIR = 0, /* the node that followed the last two */
    NODE_AFTER_ONE = 1,  /* the node that followed the last */
    NODE_WRITTEN = 2,    /* in COLUMN_NODE */
    NODE_RAW = 3,        /* none: the whole event is in COLUMN_RAW */
    NODE_MASK = 3,
    KIND_MISS = 1 << 2,
    SIZE_MISS = 1 << 3,
    SLACK_MISS = 1 << 4,
    NEW_SHIFT = 5,
    OLD_SHIFT = 3,
    ADDRESS_MASK = 7,
    ADDRESS_PLACE = 4, /* in COLUMN_PLACE; below: the guesses of block_memory */
    ADDRESS_NEAR = 5,  /* in COLUMN_ADDRESS, relative to the last such one */
    ADDRESS_SAME = 7,  /* realloc: the block did not move */
};

enum {
    TIME_DIRECT = 192, /* COLUMN_TIME: a delta below this is its byte */
    TIME_FAR = 255,    /* the delta is a signed varint; else high bits here, low byte beside */
    TIME_NEAR_LIMIT = (TIME_FAR - TIME_DIRECT) << 8,
};

static const uint64_t address_mask = (1ull << LOG_ADDRESS_BITS) - 1;
static const uint64_t time_mask = (1ull << LOG_TIME_BITS) - 1;

/* What both directions keep while they go through the events. */
struct cursor {
    struct columns *columns;
    const uint8_t *ends[COLUMN_COUNT];
    uint8_t *at[COLUMN_COUNT];
    uint64_t base;
    uint64_t last_tick; /* of the last event, in units of 1 << shift ticks */
    unsigned shift;
    uint32_t n_nodes;
    uint32_t last, before_last; /* nodes of the last two events */
    uint32_t last_new_node;
    uint64_t last_new_address;
    uint64_t last_old_address;
};

/* The narrow events, taken apart. */
struct narrow {
    uint64_t address;
    uint64_t size;
    uint64_t old_address;
    uint64_t duration;
    uint32_t node;
    uint32_t slack;
    uint8_t kind;
    uint8_t flags;
};

static void start(struct cursor *cursor, struct columns *columns, uint64_t base_ticks,
                  unsigned shift)
{
    memset(cursor, 0, sizeof(*cursor));
    cursor->columns = columns;
    cursor->base = base_ticks;
    cursor->shift = shift;
    cursor->last_tick = base_ticks >> shift;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        cursor->at[i] = columns->bytes[i];
        cursor->ends[i] = columns->bytes[i] + columns->n_bytes[i];
    }
    memset(columns->node_slots, 0, sizeof(columns->node_slots));
    memset(columns->pair_next, 0, sizeof(columns->pair_next));
    columns->nodes[0] = (struct column_node){0};
    block_memory_clear(&columns->blocks);
}

/* ---- predictions, the same in both directions ------------------------------------------------ */

/* Bytes glibc gives beyond what was asked for, when it splits a chunk to measure. */
static uint32_t usual_slack(uint64_t size, uint8_t flags)
{
    uint64_t chunk;

    if (flags & LOG_CHUNK_MMAPPED)
        return (uint32_t)(((size + 16 + 4095) & ~4095ull) - 16 - size);
    chunk = (size + 8 + 15) & ~15ull;
    if (chunk < 32)
        chunk = 32;
    return (uint32_t)(chunk - 8 - size);
}

static uint16_t *pair_slot(const struct cursor *cursor)
{
    uint32_t hash = (cursor->last * 0x9e3779b1u) ^ (cursor->before_last * 0x85ebca6bu);

    return &cursor->columns->pair_next[hash >> 19];
}

static uint32_t predicted_node(const struct cursor *cursor, unsigned how)
{
    return how == NODE_AFTER_PAIR ? *pair_slot(cursor) : cursor->columns->nodes[cursor->last].next;
}

static void follow_node(struct cursor *cursor, uint32_t index)
{
    *pair_slot(cursor) = (uint16_t)index;
    cursor->columns->nodes[cursor->last].next = (uint16_t)index;
    cursor->before_last = cursor->last;
    cursor->last = index;
}

static uint32_t add_node(struct cursor *cursor, uint32_t node)
{
    struct column_node *nodes = cursor->columns->nodes;

    nodes[++cursor->n_nodes] = (struct column_node){.node = node};
    cursor->last_new_node = node;
    return cursor->n_nodes;
}

static void learn(struct cursor *cursor, const struct narrow *event)
{
    struct block_memory *blocks = &cursor->columns->blocks;
    struct column_node *node = &cursor->columns->nodes[cursor->last];

    if (event->kind == LOG_FREE) {
        block_memory_freed(blocks, event->address);
    } else {
        if (event->kind == LOG_REALLOC)
            block_memory_freed(blocks, event->old_address);
        block_memory_allocated(blocks, event->address, event->size + event->slack);
        node->size = event->size;
    }
    node->kind = event->kind;
    node->flags = event->flags;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void put(struct cursor *cursor, enum column column, uint64_t value)
{
    cursor->at[column] = varint_put(cursor->at[column], value);
}

static void put_byte(struct cursor *cursor, enum column column, unsigned value)
{
    *cursor->at[column]++ = (uint8_t)value;
}

/* Where a node's index is, or belongs, in node_slots. */
static uint16_t *find_node(struct columns *columns, uint32_t node)
{
    uint32_t slot = node * 0x9e3779b1u >> 19;

    while (columns->node_slots[slot] && columns->nodes[columns->node_slots[slot]].node != node)
        slot = (slot + 1) & (BLOCK_MEMORY_SLOTS - 1);
    return &columns->node_slots[slot];
}

/* COLUMN_NODE: 0 and the distance to the last new node, or the index of a known one. */
static unsigned put_node(struct cursor *cursor, uint32_t node)
{
    uint16_t *slot = find_node(cursor->columns, node);
    unsigned how = NODE_WRITTEN;

    if (*slot && *slot == predicted_node(cursor, NODE_AFTER_PAIR)) {
        how = NODE_AFTER_PAIR;
    } else if (*slot && *slot == predicted_node(cursor, NODE_AFTER_ONE)) {
        how = NODE_AFTER_ONE;
    } else if (*slot) {
        put(cursor, COLUMN_NODE, *slot);
    } else {
        put(cursor, COLUMN_NODE, 0);
        put(cursor, COLUMN_NODE, zigzag_encode((int64_t)node - (int64_t)cursor->last_new_node));
        *slot = (uint16_t)add_node(cursor, node);
    }
    follow_node(cursor, *slot);
    return how;
}

static void put_tick(struct cursor *cursor, uint64_t tick)
{
    int64_t delta = (int64_t)(tick - cursor->last_tick);

    cursor->last_tick = tick;
    if (delta >= 0 && delta < TIME_DIRECT) {
        put_byte(cursor, COLUMN_TIME, (unsigned)delta);
    } else if (delta >= 0 && delta < TIME_NEAR_LIMIT) {
        put_byte(cursor, COLUMN_TIME, TIME_DIRECT + (unsigned)(delta >> 8));
        put_byte(cursor, COLUMN_TIME_MORE, delta & 255);
    } else {
        put_byte(cursor, COLUMN_TIME, TIME_FAR);
        put(cursor, COLUMN_TIME_MORE, zigzag_encode(delta));
    }
}

/* Addresses come in steps of 16; the lowest bits go along for those that do not. */
static void put_near(struct cursor *cursor, uint64_t address, uint64_t *last)
{
    uint64_t distance = zigzag_encode((int64_t)(address >> 4) - (int64_t)(*last >> 4));

    put(cursor, COLUMN_ADDRESS, distance << 1 | ((address & 15) != 0));
    if (address & 15)
        put(cursor, COLUMN_ADDRESS, address & 15);
    *last = address;
}

static unsigned put_known_or_near(struct cursor *cursor, uint64_t address, uint64_t *last)
{
    const struct block_memory *blocks = &cursor->columns->blocks;
    uint32_t place = block_memory_find(blocks, address);

    if (place == 0) {
        put_near(cursor, address, last);
        return ADDRESS_NEAR;
    }
    put(cursor, COLUMN_PLACE, blocks->n_records - place);
    return ADDRESS_PLACE;
}

static unsigned put_new(struct cursor *cursor, const struct narrow *event)
{
    const struct block_memory *blocks = &cursor->columns->blocks;

    for (unsigned guess = 0; guess < BLOCK_NEW_GUESSES; guess++)
        if (block_memory_guess_new(blocks, guess, event->size + event->slack) == event->address)
            return guess;
    return put_known_or_near(cursor, event->address, &cursor->last_new_address);
}

static unsigned put_old(struct cursor *cursor, uint64_t address)
{
    const struct block_memory *blocks = &cursor->columns->blocks;

    for (unsigned guess = 0; guess < BLOCK_OLD_GUESSES; guess++)
        if (block_memory_guess_old(blocks, guess) == address)
            return guess;
    return put_known_or_near(cursor, address, &cursor->last_old_address);
}

static unsigned put_kind(struct cursor *cursor, const struct narrow *event)
{
    const struct column_node *node = &cursor->columns->nodes[cursor->last];

    if (node->kind == event->kind && node->flags == event->flags)
        return 0;
    put_byte(cursor, COLUMN_KIND, event->kind);
    if (event->kind != LOG_FREE)
        put_byte(cursor, COLUMN_KIND, event->flags);
    return KIND_MISS;
}

static unsigned put_size(struct cursor *cursor, const struct narrow *event)
{
    const struct column_node *node = &cursor->columns->nodes[cursor->last];
    unsigned op = 0;

    if (node->size != event->size) {
        put(cursor, COLUMN_SIZE, event->size);
        op |= SIZE_MISS;
    }
    if (usual_slack(event->size, event->flags) != event->slack) {
        put(cursor, COLUMN_SLACK, event->slack);
        op |= SLACK_MISS;
    }
    return op;
}

static void put_narrow(struct cursor *cursor, const struct narrow *event)
{
    uint8_t *op = cursor->at[COLUMN_OP]++;
    unsigned bits = put_node(cursor, event->node);

    bits |= put_kind(cursor, event);
    if (event->kind == LOG_FREE) {
        bits |= put_old(cursor, event->address) << OLD_SHIFT;
    } else {
        bits |= put_size(cursor, event);
        if (event->kind == LOG_REALLOC) {
            put_byte(cursor, COLUMN_OP, put_old(cursor, event->old_address));
            put(cursor, COLUMN_TIME_MORE, event->duration);
        }
        if (event->kind == LOG_REALLOC && event->address == event->old_address)
            bits |= ADDRESS_SAME << NEW_SHIFT;
        else
            bits |= put_new(cursor, event) << NEW_SHIFT;
    }
    *op = (uint8_t)bits;
    learn(cursor, event);
}

static bool is_narrow(unsigned kind)
{
    return kind == LOG_FREE || kind == LOG_ALLOC || kind == LOG_REALLOC;
}

static uint64_t event_time(const uint64_t *words)
{
    return (words[0] >> 8 & 0xffffff) | words[1] >> LOG_ADDRESS_BITS << 24;
}

/* The call began this many units before the event's own rounded time. */
static uint64_t rounded_duration(const struct cursor *cursor, uint64_t absolute, uint64_t duration)
{
    return (absolute >> cursor->shift) - ((absolute - duration) >> cursor->shift);
}

static void encode_narrow(struct cursor *cursor, const uint64_t *words)
{
    struct narrow event = {.kind = words[0] & 255,
                           .node = (uint32_t)(words[0] >> 32),
                           .address = words[1] & address_mask};
    uint64_t absolute = cursor->base + event_time(words);

    if (event.kind != LOG_FREE) {
        event.size = words[2] & ((1ull << LOG_SIZE_BITS) - 1);
        event.slack = words[2] >> LOG_SIZE_BITS & 0xffff;
        event.flags = (uint8_t)(words[2] >> (LOG_SIZE_BITS + LOG_SLACK_BITS));
    }
    if (event.kind == LOG_REALLOC) {
        event.old_address = words[3] & address_mask;
        event.duration = rounded_duration(cursor, absolute, words[3] >> LOG_ADDRESS_BITS);
    }
    put_narrow(cursor, &event);
    put_tick(cursor, absolute >> cursor->shift);
}

/* COLUMN_RAW: kind, then node, address and the other words; the time as for all. */
static void encode_raw(struct cursor *cursor, const uint64_t *words, size_t n_words)
{
    unsigned kind = words[0] & 255;

    put_byte(cursor, COLUMN_OP, NODE_RAW);
    put_byte(cursor, COLUMN_RAW, kind);
    if (kind == LOG_TIME_BASE || n_words == 1) {
        put(cursor, COLUMN_RAW, words[0] >> 8);
        if (kind == LOG_TIME_BASE) {
            put(cursor, COLUMN_RAW, words[1] >> cursor->shift);
            cursor->base = words[1];
        }
        return;
    }
    put(cursor, COLUMN_RAW, words[0] >> 32);
    put(cursor, COLUMN_RAW, words[1] & address_mask);
    for (size_t i = 2; i < n_words; i++)
        put(cursor, COLUMN_RAW, words[i]);
    put_tick(cursor, (cursor->base + event_time(words)) >> cursor->shift);
}

/* Words of the event at words[0]; 0 if it reaches beyond the n_left that are there. */
static size_t event_length(const uint64_t *words, size_t n_left)
{
    size_t n = log_event_words(words[0] & 255);

    if (n == 0 && n_left > 2)
        n = words[2] & 0xffff;
    if (n > n_left || n > LOG_EVENT_MAX_WORDS || (log_event_words(words[0] & 255) == 0 && n < 3))
        return 0;
    return n;
}

/* After rounding the base down, a time may need one bit more. */
static bool fits_after_rounding(const struct cursor *cursor, const uint64_t *words)
{
    uint64_t unit = 1ull << cursor->shift;
    uint64_t start_ticks = cursor->base & ~(unit - 1);
    uint64_t absolute = cursor->base + event_time(words);

    return absolute >= cursor->base && absolute - start_ticks <= time_mask;
}

bool columns_encode(struct columns *columns, const uint64_t *words, size_t n_words,
                    uint64_t base_ticks, unsigned time_shift)
{
    struct cursor cursor;
    size_t n;

    memset(columns->n_bytes, 0, sizeof(columns->n_bytes));
    columns->n_events = 0;
    start(&cursor, columns, base_ticks, time_shift);
    for (size_t i = 0; i < n_words; i += n) {
        n = event_length(words + i, n_words - i);
        if (n == 0)
            return false;
        if (n > 1 && (words[i] & 255) != LOG_TIME_BASE && !fits_after_rounding(&cursor, words + i))
            return false;
        if (is_narrow(words[i] & 255))
            encode_narrow(&cursor, words + i);
        else
            encode_raw(&cursor, words + i, n);
        columns->n_events++;
    }
    for (int i = 0; i < COLUMN_COUNT; i++)
        columns->n_bytes[i] = (size_t)(cursor.at[i] - columns->bytes[i]);
    return true;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static bool get(struct cursor *cursor, enum column column, uint64_t *ret_value)
{
    const uint8_t *next = varint_get(cursor->at[column], cursor->ends[column], ret_value);

    if (!next)
        return false;
    cursor->at[column] += next - cursor->at[column];
    return true;
}

static bool get_byte(struct cursor *cursor, enum column column, uint8_t *ret_value)
{
    if (cursor->at[column] == cursor->ends[column])
        return false;
    *ret_value = *cursor->at[column]++;
    return true;
}

static bool get_written_node(struct cursor *cursor, uint32_t *ret_index)
{
    uint64_t value;

    if (!get(cursor, COLUMN_NODE, &value))
        return false;
    if (value > cursor->n_nodes)
        return false;
    *ret_index = (uint32_t)value;
    if (value)
        return true;
    if (cursor->n_nodes == COLUMNS_MAX_NODES || !get(cursor, COLUMN_NODE, &value))
        return false;
    *ret_index = add_node(cursor, cursor->last_new_node + (uint32_t)zigzag_decode(value));
    return true;
}

static bool get_node(struct cursor *cursor, unsigned op, struct narrow *event)
{
    uint32_t index = predicted_node(cursor, op & NODE_MASK);

    if ((op & NODE_MASK) == NODE_WRITTEN && !get_written_node(cursor, &index))
        return false;
    if (index == 0)
        return false;
    event->node = cursor->columns->nodes[index].node;
    follow_node(cursor, index);
    return true;
}

static bool get_kind(struct cursor *cursor, unsigned op, struct narrow *event)
{
    const struct column_node *node = &cursor->columns->nodes[cursor->last];

    event->kind = node->kind;
    event->flags = node->flags;
    if (op & KIND_MISS) {
        event->flags = 0;
        if (!get_byte(cursor, COLUMN_KIND, &event->kind))
            return false;
        if (event->kind != LOG_FREE && !get_byte(cursor, COLUMN_KIND, &event->flags))
            return false;
    }
    return is_narrow(event->kind);
}

static bool get_size(struct cursor *cursor, unsigned op, struct narrow *event)
{
    uint64_t value;

    event->size = cursor->columns->nodes[cursor->last].size;
    if ((op & SIZE_MISS) && !get(cursor, COLUMN_SIZE, &event->size))
        return false;
    event->slack = usual_slack(event->size, event->flags);
    if (op & SLACK_MISS) {
        if (!get(cursor, COLUMN_SLACK, &value))
            return false;
        event->slack = value & 0xffff;
    }
    return event->size < 1ull << LOG_SIZE_BITS && event->slack <= 0xffff;
}

static bool get_place(struct cursor *cursor, uint64_t *ret_address)
{
    const struct block_memory *blocks = &cursor->columns->blocks;
    uint64_t distance;

    if (!get(cursor, COLUMN_PLACE, &distance) || distance >= blocks->n_records)
        return false;
    *ret_address = blocks->records[blocks->n_records - distance].address;
    return true;
}

static bool get_near(struct cursor *cursor, uint64_t *last, uint64_t *ret_address)
{
    uint64_t value;
    uint64_t low = 0;

    if (!get(cursor, COLUMN_ADDRESS, &value))
        return false;
    if ((value & 1) && !get(cursor, COLUMN_ADDRESS, &low))
        return false;
    *ret_address = ((*last >> 4) + (uint64_t)zigzag_decode(value >> 1)) << 4 | (low & 15);
    *ret_address &= address_mask;
    *last = *ret_address;
    return true;
}

static bool get_address(struct cursor *cursor, unsigned code, uint64_t *last, uint64_t guessed,
                        uint64_t *ret_address)
{
    if (code == ADDRESS_PLACE)
        return get_place(cursor, ret_address);
    if (code == ADDRESS_NEAR)
        return get_near(cursor, last, ret_address);
    *ret_address = guessed;
    return code < ADDRESS_PLACE;
}

static bool get_old(struct cursor *cursor, unsigned code, uint64_t *ret_address)
{
    uint64_t guessed = 0;

    if (code < BLOCK_OLD_GUESSES)
        guessed = block_memory_guess_old(&cursor->columns->blocks, code);
    return get_address(cursor, code, &cursor->last_old_address, guessed, ret_address);
}

static bool get_new(struct cursor *cursor, unsigned code, struct narrow *event)
{
    uint64_t guessed = 0;

    if (code == ADDRESS_SAME) {
        event->address = event->old_address;
        return event->kind == LOG_REALLOC;
    }
    if (code < BLOCK_NEW_GUESSES)
        guessed =
            block_memory_guess_new(&cursor->columns->blocks, code, event->size + event->slack);
    return get_address(cursor, code, &cursor->last_new_address, guessed, &event->address);
}

static bool get_blocks(struct cursor *cursor, unsigned op, struct narrow *event)
{
    uint8_t old_code;

    if (event->kind == LOG_FREE)
        return get_old(cursor, op >> OLD_SHIFT & ADDRESS_MASK, &event->address);
    if (!get_size(cursor, op, event))
        return false;
    if (event->kind == LOG_REALLOC) {
        if (!get_byte(cursor, COLUMN_OP, &old_code)
            || !get_old(cursor, old_code, &event->old_address)
            || !get(cursor, COLUMN_TIME_MORE, &event->duration))
            return false;
    }
    return get_new(cursor, op >> NEW_SHIFT, event);
}

/* The time of an event relative to the base, after its delta. */
static bool get_time(struct cursor *cursor, uint64_t *ret_time)
{
    uint64_t more = 0;
    uint8_t byte;
    uint8_t low;

    if (!get_byte(cursor, COLUMN_TIME, &byte))
        return false;
    if (byte < TIME_DIRECT) {
        cursor->last_tick += byte;
    } else if (byte < TIME_FAR) {
        if (!get_byte(cursor, COLUMN_TIME_MORE, &low))
            return false;
        cursor->last_tick += (uint64_t)(byte - TIME_DIRECT) << 8 | low;
    } else {
        if (!get(cursor, COLUMN_TIME_MORE, &more))
            return false;
        cursor->last_tick += (uint64_t)zigzag_decode(more);
    }
    *ret_time = (cursor->last_tick << cursor->shift) - cursor->base;
    return *ret_time <= time_mask;
}

static void store_head(uint64_t *words, unsigned kind, uint32_t node, uint64_t address,
                       uint64_t time)
{
    words[0] = kind | (time & 0xffffff) << 8 | (uint64_t)node << 32;
    words[1] = address | time >> 24 << LOG_ADDRESS_BITS;
}

static uint64_t clamped_duration(const struct cursor *cursor, uint64_t units)
{
    uint64_t limit = (1u << LOG_DURATION_BITS) - 1;

    return units > limit >> cursor->shift ? limit : units << cursor->shift;
}

static size_t decode_narrow(struct cursor *cursor, unsigned op, uint64_t *words, size_t n_left)
{
    struct narrow event = {0};
    uint64_t time;

    if (!get_node(cursor, op, &event) || !get_kind(cursor, op, &event)
        || log_event_words(event.kind) > n_left || !get_blocks(cursor, op, &event)
        || !get_time(cursor, &time))
        return 0;
    learn(cursor, &event);
    store_head(words, event.kind, event.node, event.address, time);
    if (event.kind != LOG_FREE)
        words[2] = event.size | (uint64_t)event.slack << LOG_SIZE_BITS
                   | (uint64_t)event.flags << (LOG_SIZE_BITS + LOG_SLACK_BITS);
    if (event.kind == LOG_REALLOC)
        words[3] = event.old_address | clamped_duration(cursor, event.duration) << LOG_ADDRESS_BITS;
    return log_event_words(event.kind);
}

static size_t decode_raw_untimed(struct cursor *cursor, unsigned kind, uint64_t *words,
                                 size_t n_left)
{
    uint64_t value;
    size_t n = log_event_words(kind);

    if (n > n_left || !get(cursor, COLUMN_RAW, &value))
        return 0;
    words[0] = kind | value << 8;
    if (kind == LOG_TIME_BASE) {
        if (!get(cursor, COLUMN_RAW, &value))
            return 0;
        words[1] = value << cursor->shift;
        cursor->base = words[1];
    }
    return n;
}

static size_t decode_raw(struct cursor *cursor, uint64_t *words, size_t n_left)
{
    uint64_t node;
    uint64_t address;
    uint64_t time;
    uint8_t kind;
    size_t n;

    if (!get_byte(cursor, COLUMN_RAW, &kind))
        return 0;
    n = log_event_words(kind);
    if (kind == LOG_TIME_BASE || n == 1)
        return decode_raw_untimed(cursor, kind, words, n_left);
    if (!get(cursor, COLUMN_RAW, &node) || !get(cursor, COLUMN_RAW, &address)
        || n_left < (n ? n : 3))
        return 0;
    for (size_t i = 2; i < (n ? n : 3); i++)
        if (!get(cursor, COLUMN_RAW, &words[i]))
            return 0;
    if (n == 0) {
        n = words[2] & 0xffff;
        if (n < 3 || n > n_left || n > LOG_EVENT_MAX_WORDS)
            return 0;
        for (size_t i = 3; i < n; i++)
            if (!get(cursor, COLUMN_RAW, &words[i]))
                return 0;
    }
    if (!get_time(cursor, &time))
        return 0;
    store_head(words, kind, (uint32_t)node, address & address_mask, time);
    return n;
}

bool columns_decode(struct columns *columns, uint64_t *words, size_t n_words, uint64_t base_ticks,
                    unsigned time_shift)
{
    struct cursor cursor;
    uint8_t op;
    size_t n;

    if (time_shift > COLUMNS_MAX_TIME_SHIFT || base_ticks & ((1ull << time_shift) - 1))
        return false;
    start(&cursor, columns, base_ticks, time_shift);
    for (size_t i = 0; i < n_words; i += n) {
        if (!get_byte(&cursor, COLUMN_OP, &op))
            return false;
        if ((op & NODE_MASK) == NODE_RAW)
            n = decode_raw(&cursor, words + i, n_words - i);
        else
            n = decode_narrow(&cursor, op, words + i, n_words - i);
        if (n == 0)
            return false;
    }
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (cursor.at[i] != cursor.ends[i])
            return false;
    return true;
}
