/* SPDX-License-Identifier: MIT */
/*
 * estimate: a figure with half of the width of its 95 % interval, as people read it: "12.3 MiB ± 1.1 MiB". Without a
 * margin it is the figure alone, and so is what no sample was seen of: its interval is one of all that answers say beside.
 *
 * Threads: any. Failure: none, the text is cut.
 */
#ifndef MTRACE_QUERIES_ESTIMATE_H
#define MTRACE_QUERIES_ESTIMATE_H

#include "lib/base/units.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    ESTIMATE_TEXT_BYTES = 2 * UNITS_TEXT_BYTES + 8
};

/* margin below 0: the figure is exact. ret_text has ESTIMATE_TEXT_BYTES, and is returned. */
const char *estimate_format_bytes(int64_t bytes, double margin, char *ret_text);
const char *estimate_format_count(int64_t count, double margin, char *ret_text);

/* The margin whose square this is, of what is no estimate below 0. */
double estimate_margin(bool is_estimate, double square);

/* "1 block", "1 ± 2 blocks": only what is exact is one. */
const char *estimate_format_blocks(int64_t count, double margin, char *ret_text);

#endif
