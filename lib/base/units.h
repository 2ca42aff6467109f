/* SPDX-License-Identifier: MIT */
/*
 * units: sizes, times and shares as people write and read them.
 *
 * Model: formatting fills the caller's text of UNITS_TEXT_BYTES and returns it; it never fails. The
 *        result is short, not exact: at most four digits. Parsing is exact to one byte or
 *        nanosecond, takes decimals ("1.5 GiB", "0.2"), and leaves *ret alone when it fails.
 * Words: sizes    B, K KiB M MiB G GiB T TiB (powers of 1024), kB KB MB GB TB (powers of 1000)
 *        times    d h m s ms us ns, several in a row ("4m12s"); without a unit: seconds
 *        percent  a number and "%", 0 to 100
 * Failure: ERROR_USAGE with what was read and what is allowed; the caller knows the parameter's
 *        name and adds it.
 */
#ifndef MTRACE_LIB_UNITS_H
#define MTRACE_LIB_UNITS_H

#include <stdint.h>

struct error;

enum {
    UNITS_TEXT_BYTES = 32
};

const char *units_format_bytes(int64_t size_bytes, char *ret_text); /* 12.3 MiB */
const char *units_format_duration(int64_t time_ns, char *ret_text); /* 4m12s, 0.2 s, 15 us */
const char *units_format_count(int64_t count, char *ret_text);      /* 12,904 */
/* "1 block", "12,904 blocks" of the noun "block" */
const char *units_format_counted(int64_t count, const char *noun, char *ret_text);
const char *units_format_share(double share, char *ret_text); /* 98 %, 0.4 % */

int units_parse_bytes(const char *text, uint64_t *ret_bytes, struct error *err);
int units_parse_duration(const char *text, uint64_t *ret_ns, struct error *err);
int units_parse_count(const char *text, uint64_t *ret_count, struct error *err);

/* ret_share is 0 to 1. */
int units_parse_percent(const char *text, double *ret_share, struct error *err);

#endif
