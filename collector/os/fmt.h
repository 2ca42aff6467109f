/* SPDX-License-Identifier: MIT */
/*
 * fmt: text and bytes without libc: no allocation, locale or stdio. Async-signal-safe.
 *
 * fmt_* build text in the caller's buffer. It always ends with NUL. Text that does not fit is cut,
 * and is_cut is set. bytes_* compare bytes, and fmt.c defines the collector's own memcpy
 * and memset.
 *
 *   BY-1 memcpy and memset bind inside the library, also for GCC's implicit calls. A memcpy of the
 *        program is never called from here.
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
/* The rest of `text` after `prefix`; NULL if it does not begin with it. */
const char *fmt_after_prefix(const char *text, const char *prefix);
/* Parses digits and moves *text past them. False: no digit, or too large. */
bool fmt_parse_decimal(const char **text, uint64_t *ret_value);

bool bytes_equal(const void *a, const void *b, size_t size_bytes);

#endif
