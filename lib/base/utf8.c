/* SPDX-License-Identifier: MIT */
#include "lib/base/utf8.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_tail(unsigned char byte)
{
    return (byte & 0xc0u) == 0x80u;
}

size_t utf8_length(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;

    if (bytes[0] < 0x80)
        return 1;
    if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf)
        return is_tail(bytes[1]) ? 2 : 0;
    if (bytes[0] >= 0xe0 && bytes[0] <= 0xef) {
        if (!is_tail(bytes[1]) || !is_tail(bytes[2]) || (bytes[0] == 0xe0 && bytes[1] < 0xa0)
            || (bytes[0] == 0xed && bytes[1] > 0x9f))
            return 0;
        return 3;
    }
    if (bytes[0] >= 0xf0 && bytes[0] <= 0xf4) {
        if (!is_tail(bytes[1]) || !is_tail(bytes[2]) || !is_tail(bytes[3])
            || (bytes[0] == 0xf0 && bytes[1] < 0x90) || (bytes[0] == 0xf4 && bytes[1] > 0x8f))
            return 0;
        return 4;
    }
    return 0;
}

static bool is_control(const char *character, size_t n_bytes)
{
    unsigned char first = (unsigned char)*character;

    if (n_bytes == 1)
        return first < ' ' || first == 0x7f;
    return n_bytes == 2 && first == 0xc2 && (unsigned char)character[1] < 0xa0;
}

void utf8_clean(char *text)
{
    while (*text) {
        size_t n = utf8_length(text);
        bool is_bad = n == 0 || is_control(text, n);
        for (n += n == 0; n > 0; n--, text++)
            if (is_bad)
                *text = '?';
    }
}
