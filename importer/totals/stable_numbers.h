/* SPDX-License-Identifier: MIT */
/*
 * facts_numbers: what facts call processes, threads, stacks and pools while a recording grows.
 *
 * Model:   events name threads, stacks and pools by numbers. Of a recording that is read at once they are the ids of its definitions; of
 *          one that grows they stay (stable_ids.h), while ids are those of the definitions of now.
 */
#ifndef MTRACE_IMPORTER_STABLE_NUMBERS_H
#define MTRACE_IMPORTER_STABLE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* Ids by number, the one of 0 being 0. */
struct statistics_ids {
    const uint32_t *threads, *backtraces, *pools;
};

/* Of what has rows of its own and would grow for as long as the program runs, how many are kept; 0: any number. */
struct statistics_limits {
    size_t extents;         /* heap_ranges.h */
    size_t windows, phases; /* of a process: windows.h, phases.h */
    size_t pairs;           /* of stacks, and of threads: totals.h */
    size_t walks;           /* nodes, claims and stacks of all of them: object_walks.h */
    size_t rows;            /* of each kind of event that has one: row_spool.h */
};

/* How many there may be. */
struct statistics_room {
    uint32_t n_processes, n_threads, n_nodes, n_pools;
};

#endif
