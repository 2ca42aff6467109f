/* SPDX-License-Identifier: MIT */
#include "support/utf8.h"

#include <stdbool.h>

static bool is_tail(unsigned char byte)
{
    return (byte & 0xc0u) == 0x80u;
}

size_t utf8_length(const char *letters)
{
    const unsigned char *text = (const unsigned char *)letters;

    if (text[0] < 0x80)
        return 1;
    if (text[0] >= 0xc2 && text[0] <= 0xdf)
        return is_tail(text[1]) ? 2 : 0;
    if (text[0] >= 0xe0 && text[0] <= 0xef) {
        if (!is_tail(text[1]) || !is_tail(text[2]) || (text[0] == 0xe0 && text[1] < 0xa0)
            || (text[0] == 0xed && text[1] > 0x9f))
            return 0;
        return 3;
    }
    if (text[0] >= 0xf0 && text[0] <= 0xf4) {
        if (!is_tail(text[1]) || !is_tail(text[2]) || !is_tail(text[3])
            || (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
            return 0;
        return 4;
    }
    return 0;
}
