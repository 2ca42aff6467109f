/* SPDX-License-Identifier: MIT */
/*
 * report_grid: bounds of the importer's time buckets and address ranges.
 *
 * The collector counts blocks that it elides so that all totals stay exact. So it must know which
 * bucket or range each of them falls into.
 *
 * Any thread. Cannot fail.
 */
#ifndef MTRACE_LIB_REPORT_GRID_H
#define MTRACE_LIB_REPORT_GRID_H

enum {
    REPORT_GRID_BUCKETS_LOG2 = 10, /* most buckets of a timeline, all equal */
    REPORT_GRID_FIRST_SHIFT = 10,  /* log2 of their width in ns, at least; also of snapshots */
    REPORT_GRID_UNIT_SHIFT = 20,   /* log2 of the bytes of one range of a heap */
};

#endif
