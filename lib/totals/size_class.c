/* SPDX-License-Identifier: MIT */
#include "lib/totals/size_class.h"

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
