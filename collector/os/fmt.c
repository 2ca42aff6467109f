/* SPDX-License-Identifier: MIT */
#include "collector/os/fmt.h"

#include "collector/arch/arch.h"

#include <string.h>

void fmt_char(struct fmt *fmt, char c)
{
    if (fmt->size_bytes + 1 >= fmt->capacity_bytes) {
        fmt->is_cut = true;
        return;
    }
    fmt->text[fmt->size_bytes++] = c;
    fmt->text[fmt->size_bytes] = '\0';
}

void fmt_bytes(struct fmt *fmt, const char *bytes, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        fmt_char(fmt, bytes[i]);
}

void fmt_string(struct fmt *fmt, const char *text)
{
    fmt_bytes(fmt, text, fmt_length(text));
}

static void unsigned_in_base(struct fmt *fmt, uint64_t value, unsigned base)
{
    char digits[20];
    size_t n_digits = 0;

    do {
        digits[n_digits++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (n_digits)
        fmt_char(fmt, digits[--n_digits]);
}

void fmt_decimal(struct fmt *fmt, uint64_t value)
{
    unsigned_in_base(fmt, value, 10);
}

void fmt_hex(struct fmt *fmt, uint64_t value)
{
    unsigned_in_base(fmt, value, 16);
}

size_t fmt_length(const char *text)
{
    size_t length = 0;

    while (text[length]) {
        length++;
        __asm__ volatile("" : : : "memory"); /* or GCC makes the loop a call of strlen */
    }
    return length;
}

bool fmt_is_equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

const char *fmt_after_prefix(const char *text, const char *prefix)
{
    while (*prefix)
        if (*text++ != *prefix++)
            return NULL;
    return text;
}

bool fmt_parse_decimal(const char **text, uint64_t *ret_value)
{
    const char *at = *text;
    uint64_t value = 0;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (at == *text)
        return false;
    *text = at;
    *ret_value = value;
    return true;
}

/* ---- bytes ---- */

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
