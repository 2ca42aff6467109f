/* SPDX-License-Identifier: MIT */
#include "lib/totals/report_classes.h"

/* ---- sizes ---- */

unsigned size_class_of(uint64_t size_bytes)
{
    if (size_bytes <= 128)
        return (unsigned)((size_bytes + 15) / 16);
    uint64_t last = size_bytes - 1; /* 128..: classes end at a power of two, which is included */
    unsigned log2 = 63 - (unsigned)__builtin_clzll(last);
    return 9 + (log2 - 7) * 4 + (unsigned)(last >> (log2 - 2) & 3);
}

void size_class_bounds(unsigned index, uint64_t *ret_from, uint64_t *ret_to)
{
    if (index <= 8) {
        *ret_from = index ? (uint64_t)(index - 1) * 16 + 1 : 0;
        *ret_to = (uint64_t)index * 16;
        return;
    }
    unsigned log2 = 7 + (index - 9) / 4;
    uint64_t step = UINT64_C(1) << (log2 - 2);
    *ret_from = (UINT64_C(1) << log2) + step * ((index - 9) % 4) + 1;
    *ret_to = *ret_from + step - 1;
}

/* ---- lifetimes ---- */

#define DECADE(first) (first), 2 * (first), 5 * (first)

const uint64_t lifetime_class_ends[LIFETIME_CLASSES] = {
    DECADE(LIFETIME_CLASS_FIRST_NS * UINT64_C(1)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(10)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(100)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(1000)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(10000)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(100000)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(1000000)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(10000000)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(100000000)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(1000000000)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(10000000000)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(100000000000)),
    DECADE(LIFETIME_CLASS_FIRST_NS *UINT64_C(1000000000000)),
    INT64_MAX,
};

const uint8_t lifetime_class_of_power[64] = {
    0,  0,  0,  0,  0,  0,  0,  1,  2,  3,  4,  5,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
    14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 32, 33,
    34, 35, 36, 37, 38, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39,
};

void lifetime_class_bounds(unsigned index, uint64_t *ret_from, uint64_t *ret_to)
{
    *ret_from = index ? lifetime_class_ends[index - 1] : 0;
    *ret_to = lifetime_class_ends[index];
}
