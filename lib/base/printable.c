/* SPDX-License-Identifier: MIT */
#include "lib/base/printable.h"

#include "lib/base/utf8.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_control(const char *character, size_t n_bytes)
{
    unsigned char first = (unsigned char)*character;

    if (n_bytes == 1)
        return first < ' ' || first == 0x7f;
    return n_bytes == 2 && first == 0xc2 && (unsigned char)character[1] < 0xa0;
}

void printable_clean(char *text)
{
    while (*text) {
        size_t n = utf8_length(text);
        bool is_bad = n == 0 || is_control(text, n);
        for (n += n == 0; n > 0; n--, text++)
            if (is_bad)
                *text = '?';
    }
}
