/* SPDX-License-Identifier: MIT */
/*
 * stable_numbers: the numbers of threads, stacks and pools in events while a recording grows.
 *
 * In a recording that is read in one go, numbers are the ids of its definitions. In one that grows
 * they are stable (stable_ids.h), while ids are those of the latest definitions.
 */
#ifndef MTRACE_IMPORTER_STABLE_NUMBERS_H
#define MTRACE_IMPORTER_STABLE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* Ids by number; the id of 0 is 0. */
struct statistics_ids {
    const uint32_t *threads, *backtraces, *pools;
};

/* Capacities. */
struct statistics_room {
    uint32_t n_processes, n_threads, n_backtraces, n_pools;
};

#endif
