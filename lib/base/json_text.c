/* SPDX-License-Identifier: MIT */
#include "lib/base/json_text.h"

#include "lib/base/utf8.h"

#include <stdbool.h>
#include <string.h>

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

/* Writes one special character and returns its bytes. */
static size_t put_special(FILE *out, const unsigned char *at)
{
    size_t length = *at ? utf8_length((const char *)at) : 1;

    if (length == 0)
        (void)fputs("\\ufffd", out);
    else if (*at == '"' || *at == '\\')
        (void)fprintf(out, "\\%c", *at);
    else if (length == 1)
        (void)fprintf(out, "\\u%04x", *at);
    else if (utf8_is_plain((const char *)at, length))
        (void)fwrite(at, 1, length, out);
    else if (length == 2) /* a control character or a mark: all of them are below U+FFFF */
        (void)fprintf(out, "\\u%04x", (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu));
    else
        (void)fprintf(out, "\\u%04x",
                      (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu));
    return length ? length : 1;
}

void json_text_put_bytes(FILE *out, const char *text, size_t n_bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + n_bytes;

    (void)putc_unlocked('"', out);
    while (at < end) {
        size_t n = 0;

        while (is_plain(at[n]))
            n++;
        if (n > 0)
            (void)fwrite(at, 1, n, out);
        at += n;
        if (at < end)
            at += put_special(out, at);
    }
    (void)putc_unlocked('"', out);
}

void json_text_put(FILE *out, const char *text)
{
    json_text_put_bytes(out, text ? text : "", text ? strlen(text) : 0);
}
