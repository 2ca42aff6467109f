/* SPDX-License-Identifier: MIT */
/*
 * own_peaks: the highest live bytes of each stack, from rows in the order of allocation.
 *
 * Pending frees wait in an expiry_heap. As in the totals of the importer, a sum counts only when
 * the time advances: a block allocated and freed at the same time never counts.
 *
 * Invariants
 *   OP-1 Allocations are added in time order.
 *   OP-2 Memory grows with the blocks that are live at the same time, plus 48 bytes per stack.
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
    double live_variance, peak_variance; /* of the bytes if they are estimates */
};

/* What a block adds to a sum. */
struct own_peaks_size {
    int64_t bytes;
    double variance;
};

struct own_peaks {
    struct own_peak *list; /* by the stack's number */
    size_t n;
    struct expiry_heap frees;
};

/* Adds a block. Zeroed peaks are empty. end_ns: INT64_MAX if never freed. False: no memory. */
bool own_peaks_allocated(struct own_peaks *peaks, size_t stack, int64_t at_ns,
                         struct own_peaks_size size, int64_t end_ns);

/* The same for a block that joins a sum at from_ns, not before the last allocation, and leaves it
 * at end_ns. */
bool own_peaks_joined(struct own_peaks *peaks, size_t stack, int64_t from_ns,
                      struct own_peaks_size size, int64_t end_ns);

/* Call it after the last allocation. */
void own_peaks_finish(struct own_peaks *peaks);
void own_peaks_done(struct own_peaks *peaks);

#endif
