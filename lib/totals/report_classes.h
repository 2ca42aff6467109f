/* SPDX-License-Identifier: MIT */
/*
 * report_classes: classes of sizes and of lifetimes for histograms, and bounds of time buckets and
 * ranges.
 *
 * Classes of requested sizes are 0; then steps of 16 up to 128; then four steps per doubling.
 * Classes of lifetimes are below 100 ns, then up to 200, 500, 1000, … ns.
 *
 *   SZ-1 Every size is in exactly one class, whose bounds include it. So is the mean of sizes of a
 *        class.
 *   LT-1 Every lifetime is in exactly one class, whose bounds include it. The last class has no
 *        upper bound.
 *
 * Any thread. Cannot fail.
 */
#ifndef MTRACE_LIB_REPORT_CLASSES_H
#define MTRACE_LIB_REPORT_CLASSES_H

#include <stdint.h>

/* ---- sizes ---- */

enum {
    SIZE_CLASSES = 237
};

unsigned size_class_of(uint64_t size_bytes);

/* Both included. */
void size_class_bounds(unsigned index, uint64_t *ret_from, uint64_t *ret_to);

/* ---- lifetimes ---- */

enum {
    LIFETIME_CLASSES = 40,
    LIFETIME_CLASS_FIRST_NS = 100 /* class 0 ends here */
};

extern const uint64_t lifetime_class_ends[LIFETIME_CLASSES]; /* without the last class */
extern const uint8_t lifetime_class_of_power[64];            /* the class of 2^i */

/* Called for each freed block: a loop over all classes took a tenth of the time of an event. */
static inline unsigned lifetime_class_of(uint64_t lifetime_ns)
{
    unsigned index = lifetime_class_of_power[63 - __builtin_clzll(lifetime_ns | 1)];

    while (index < LIFETIME_CLASSES - 1 && lifetime_ns >= lifetime_class_ends[index])
        index++;
    return index;
}

/* from <= lifetime < to. */
void lifetime_class_bounds(unsigned index, uint64_t *ret_from, uint64_t *ret_to);

/* ---- time buckets and ranges ---- */

enum {
    REPORT_GRID_BUCKETS_LOG2 = 10, /* most buckets of a timeline, all equal */
    REPORT_GRID_FIRST_SHIFT = 10,  /* log2 of their width in ns, at least; also of snapshots */
    REPORT_GRID_UNIT_SHIFT = 20,   /* log2 of the bytes of one range of a heap */
};

#endif
