/* SPDX-License-Identifier: MIT */
/*
 * fmt: text in a buffer of the caller, with no allocation, no locale and no stdio.
 *
 * Invariants: FM-1 the text is always NUL-terminated; FM-2 what does not fit is cut and is_cut says
 *             so. Signals: safe.
 */
#ifndef MTRACE_COLLECTOR_FMT_H
#define MTRACE_COLLECTOR_FMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fmt {
    char *text;
    size_t capacity_bytes; /* at least 1 */
    size_t size_bytes;     /* without the NUL */
    bool is_cut;
};

#define FMT_BUFFER(array) ((struct fmt){(array), sizeof(array), 0, false})

void fmt_char(struct fmt *fmt, char c);
void fmt_bytes(struct fmt *fmt, const char *bytes, size_t size_bytes);
void fmt_string(struct fmt *fmt, const char *text);
void fmt_decimal(struct fmt *fmt, uint64_t value);
void fmt_hex(struct fmt *fmt, uint64_t value);

size_t fmt_length(const char *text);
bool fmt_is_equal(const char *a, const char *b);
/* The text behind `prefix`, or NULL when `text` does not begin with it. */
const char *fmt_after_prefix(const char *text, const char *prefix);
/* Digits at *text into *ret_value, *text moved behind them; false when there is none or too many.
 */
bool fmt_parse_decimal(const char **text, uint64_t *ret_value);

#endif
