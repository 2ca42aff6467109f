/* SPDX-License-Identifier: MIT */
#include "collector/os/bytes.h"

#include "collector/arch/arch.h"

#include <string.h>

bool bytes_equal(const void *a, const void *b, size_t size_bytes)
{
    const unsigned char *left = a;
    const unsigned char *right = b;

    for (size_t i = 0; i < size_bytes; i++)
        if (left[i] != right[i])
            return false;
    return true;
}

/* Hidden by -fvisibility: these serve the calls that GCC makes for struct copies and loops. */
void *memcpy(void *restrict to, const void *restrict from, size_t size_bytes)
{
    arch_copy(to, from, size_bytes);
    return to;
}

void *memset(void *to, int value, size_t size_bytes)
{
    arch_fill(to, value, size_bytes);
    return to;
}
