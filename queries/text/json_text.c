/* SPDX-License-Identifier: MIT */
#include "queries/text/json_text.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_tail(unsigned char byte)
{
    return (byte & 0xc0u) == 0x80u;
}

/* Bytes of the well-formed character at text; 0: there is none. Overlong forms, surrogates and what
 * is above U+10FFFF are none. */
static size_t length_of(const unsigned char *text)
{
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

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

/* One character that is no plain one; returns its bytes. */
static size_t put_special(FILE *out, const unsigned char *at)
{
    size_t length = length_of(at);

    if (length == 0)
        (void)fputs("\\ufffd", out);
    else if (*at == '"' || *at == '\\')
        (void)fprintf(out, "\\%c", *at);
    else if (length == 1)
        (void)fprintf(out, "\\u%04x", *at);
    else
        (void)fwrite(at, 1, length, out);
    return length ? length : 1;
}

void json_text_put(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)(text ? text : "");

    (void)putc_unlocked('"', out);
    while (*at) {
        size_t n = 0;

        while (is_plain(at[n]))
            n++;
        if (n > 0)
            (void)fwrite(at, 1, n, out);
        at += n;
        if (*at)
            at += put_special(out, at);
    }
    (void)putc_unlocked('"', out);
}
