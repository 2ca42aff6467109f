/* SPDX-License-Identifier: MIT */
/*
 * estimate: formats a number with half the width of its 95 % interval: "12.3 MiB ± 1.1 MiB".
 *
 * Without a margin it is the number alone. That includes values without any sample: a note beside
 * the answer gives their interval. Texts that are too long are cut.
 */
#ifndef MTRACE_QUERIES_ESTIMATE_H
#define MTRACE_QUERIES_ESTIMATE_H

#include "lib/base/units.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    ESTIMATE_TEXT_BYTES = 2 * UNITS_TEXT_BYTES + 8
};

/* Format a number into ret_text, which has ESTIMATE_TEXT_BYTES and is returned. margin < 0:
 * exact. */
const char *estimate_format_bytes(int64_t bytes, double margin, char *ret_text);
const char *estimate_format_count(int64_t count, double margin, char *ret_text);

/* The margin with this square; negative if the number is no estimate. */
double estimate_margin(bool is_estimate, double square);

/* "1 block", "1 ± 2 blocks": the singular is for exact numbers. */
const char *estimate_format_blocks(int64_t count, double margin, char *ret_text);

#endif
