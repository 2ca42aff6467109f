/* SPDX-License-Identifier: MIT */
/*
 * units: formats and parses sizes, times and percentages.
 *
 *   sizes    B, K KiB M MiB G GiB T TiB (powers of 1024), kB KB MB GB TB (powers of 1000)
 *   times    d h m s ms us ns, several in a row ("4m12s"); without a unit: seconds
 *   percent  a number from 0 to 100 and "%"
 *
 * Formatting writes at most four digits into the caller's text of UNITS_TEXT_BYTES and returns it.
 * Parsing takes decimals ("1.5 GiB", "0.2") and is exact to one byte or nanosecond. On ERROR_USAGE
 * it leaves the result unchanged; the caller adds the name of the parameter to the message.
 */
#ifndef MTRACE_LIB_UNITS_H
#define MTRACE_LIB_UNITS_H

#include <stdint.h>

struct error;

enum {
    UNITS_TEXT_BYTES = 32
};

const char *units_format_bytes(int64_t size_bytes, char *ret_text); /* 12.3 MiB */
/* 12.3 MiB/s; below one byte a second 900 B/h: the unit of all rates */
const char *units_format_rate(double bytes_per_s, char *ret_text);
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
