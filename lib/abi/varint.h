/* SPDX-License-Identifier: MIT */
/*
 * varint: unsigned LEB128 and zigzag, the integer encoding of packed frames.
 *
 *   V-1 An encoding has 1 to 10 bytes.
 *   V-2 varint_get never reads at or past `end`.
 *   V-3 varint_get rejects what varint_put never writes: more than 10 bytes, bits above 63.
 *
 * varint_get returns NULL for a cut or overlong encoding and leaves *ret_value unchanged.
 */
#ifndef MTRACE_LIB_VARINT_H
#define MTRACE_LIB_VARINT_H

#include <stddef.h>
#include <stdint.h>

enum {
    VARINT_MAX_BYTES = 10
};

/* Writes value at `out`, which must have VARINT_MAX_BYTES free; returns the byte after the
 * encoding. */
static inline uint8_t *varint_put(uint8_t *out, uint64_t value)
{
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

/* Reads one value from [in, end); returns the byte after it, or NULL (V-2, V-3). */
static inline const uint8_t *varint_get(const uint8_t *in, const uint8_t *end, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; in < end && shift < 64; shift += 7) {
        uint8_t byte = *in++;
        if (shift == 63 && byte > 1)
            return NULL;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return in;
        }
    }
    return NULL;
}

/* Small magnitudes of either sign become small unsigned values: 0, -1, 1, -2 -> 0, 1, 2, 3. */
static inline uint64_t zigzag_encode(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t zigzag_decode(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
