/* SPDX-License-Identifier: MIT */
/*
 * own_peaks: the highest sum of live bytes that each stack ever had, of rows in the order of birth.
 *
 * Model: deaths that are still ahead wait (expiry_heap.h). As in the importer's totals an instant
 *        is all that happens at one time: a sum counts when time goes on, and what was born and
 *        freed within one instant never does.
 * Invariants: OP-1 births are told in the order of time. OP-2 memory is that of the blocks that are
 *        live at once, and 48 bytes per stack.
 */
#ifndef MTRACE_QUERIES_OWN_PEAKS_H
#define MTRACE_QUERIES_OWN_PEAKS_H

#include "queries/filter/expiry_heap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct own_peak {
    int64_t live_bytes;
    int64_t changed_ns;
    int64_t peak_bytes, peak_ns;
    double live_variance, peak_variance; /* of the bytes, where they are estimates */
};

/* What a sum gains by a block. */
struct own_peaks_size {
    int64_t bytes;
    double variance;
};

struct own_peaks {
    struct own_peak *list; /* by the stack's number */
    size_t n;
    struct expiry_heap frees;
};

/* All zero is an empty one. end_ns: INT64_MAX for what never ends. False: no memory. */
bool own_peaks_allocated(struct own_peaks *peaks, size_t stack, int64_t at_ns,
                         struct own_peaks_size size, int64_t end_ns);

/* The same of what joins a sum at an instant not before that of the last birth, and leaves it at another. */
bool own_peaks_joined(struct own_peaks *peaks, size_t stack, int64_t from_ns,
                      struct own_peaks_size size, int64_t end_ns);

/* After the last birth. */
void own_peaks_finish(struct own_peaks *peaks);
void own_peaks_done(struct own_peaks *peaks);

#endif
