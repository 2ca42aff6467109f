/* SPDX-License-Identifier: MIT */
/*
 * report_grid: where the importer's parts of time and of the address space begin and end.
 *
 * Model: who leaves blocks out of a log counts them so that no total tells that from the whole: he must know beforehand
 *        which part each of them falls into.
 * Threads: any. Failure: none.
 */
#ifndef MTRACE_LIB_REPORT_GRID_H
#define MTRACE_LIB_REPORT_GRID_H

enum {
    REPORT_GRID_BUCKETS_LOG2 = 10, /* a timeline has at most so many buckets, all equal, */
    REPORT_GRID_FIRST_SHIFT =
        10, /* whose width in ns is this power of two, or the next that has room for all; snapshots, too */
    REPORT_GRID_UNIT_SHIFT =
        20, /* blocks of a heap are looked at by units of this power of two bytes */
};

#endif
