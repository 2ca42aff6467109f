/* SPDX-License-Identifier: MIT */
/*
 * cfi_cursor: reads DWARF's numbers from bounded bytes.
 *
 * A read past the end sets is_bad and yields 0; callers check is_bad once, after a group of reads.
 */
#ifndef MTRACE_COLLECTOR_CFI_CURSOR_H
#define MTRACE_COLLECTOR_CFI_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_cursor {
    const uint8_t *at;
    const uint8_t *end;
    uintptr_t address; /* of `at` in the program; differs from the pointer when reading a copy */
    bool is_bad;
};

static inline size_t cfi_cursor_left(const struct cfi_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static inline void cfi_cursor_skip(struct cfi_cursor *cursor, uint64_t n_bytes)
{
    if (n_bytes > cfi_cursor_left(cursor)) {
        cursor->is_bad = true;
        n_bytes = cfi_cursor_left(cursor);
    }
    cursor->at += n_bytes;
    cursor->address += (uintptr_t)n_bytes;
}

/* n_bytes is 1, 2, 4 or 8. */
static inline uint64_t cfi_cursor_unsigned(struct cfi_cursor *cursor, size_t n_bytes)
{
    uint64_t value = 0;

    if (n_bytes > cfi_cursor_left(cursor)) {
        cursor->is_bad = true;
        return 0;
    }
    for (size_t i = 0; i < n_bytes; i++)
        value |= (uint64_t)cursor->at[i] << (8 * i);
    cfi_cursor_skip(cursor, n_bytes);
    return value;
}

static inline int64_t cfi_cursor_signed(struct cfi_cursor *cursor, size_t n_bytes)
{
    unsigned n_unused_bits = (unsigned)(64 - 8 * n_bytes);

    return (int64_t)(cfi_cursor_unsigned(cursor, n_bytes) << n_unused_bits) >> n_unused_bits;
}

/* DWARF pads LEB128 freely, so unlike varint.h this takes any length and drops bits above 63. */
static inline uint64_t cfi_cursor_leb(struct cfi_cursor *cursor, unsigned *ret_n_bits)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint64_t byte;

    do {
        byte = cfi_cursor_unsigned(cursor, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) && !cursor->is_bad);
    *ret_n_bits = shift | (unsigned)((byte & 0x40) ? 1u << 31 : 0);
    return value;
}

static inline uint64_t cfi_cursor_uleb(struct cfi_cursor *cursor)
{
    unsigned n_bits;

    return cfi_cursor_leb(cursor, &n_bits);
}

static inline int64_t cfi_cursor_sleb(struct cfi_cursor *cursor)
{
    unsigned n_bits;
    uint64_t value = cfi_cursor_leb(cursor, &n_bits);
    bool is_negative = n_bits >> 31;

    n_bits &= ~(1u << 31);
    if (is_negative && n_bits < 64)
        value |= ~0ull << n_bits;
    return (int64_t)value;
}

#endif
