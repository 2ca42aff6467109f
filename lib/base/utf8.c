/* SPDX-License-Identifier: MIT */
#include "lib/base/utf8.h"

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

/* Marks, embeddings and isolates of direction, and separators of lines and paragraphs. */
static bool is_mark(const unsigned char *bytes, size_t n_bytes)
{
    if (n_bytes == 2)
        return bytes[0] == 0xd8 && bytes[1] == 0x9c; /* U+061C */
    if (n_bytes != 3 || bytes[0] != 0xe2)
        return false;
    if (bytes[1] == 0x81)
        return bytes[2] >= 0xa6 && bytes[2] <= 0xa9; /* U+2066 to U+2069 */
    return bytes[1] == 0x80
           && (bytes[2] == 0x8e || bytes[2] == 0x8f        /* U+200E, U+200F */
               || (bytes[2] >= 0xa8 && bytes[2] <= 0xae)); /* U+2028 to U+202E */
}

bool utf8_is_plain(const char *character, size_t n_bytes)
{
    const unsigned char *bytes = (const unsigned char *)character;

    if (n_bytes == 1)
        return bytes[0] >= ' ' && bytes[0] != 0x7f;
    if (n_bytes == 2 && bytes[0] == 0xc2)
        return bytes[1] >= 0xa0;
    return !is_mark(bytes, n_bytes);
}

void utf8_clean(char *text)
{
    while (*text) {
        size_t n = utf8_length(text);
        bool is_bad = n == 0 || !utf8_is_plain(text, n);
        for (n += n == 0; n > 0; n--, text++)
            if (is_bad)
                *text = '?';
    }
}

bool utf8_is_clean(const char *text)
{
    for (size_t n; *text; text += n) {
        n = utf8_length(text);
        if (n == 0 || !utf8_is_plain(text, n))
            return false;
    }
    return true;
}
