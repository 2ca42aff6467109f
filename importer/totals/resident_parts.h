/* SPDX-License-Identifier: MIT */
/*
 * resident_parts: the owners of the resident private memory of a process, for samples of smaps.
 *
 * The recorder reports runs of resident pages. The kernel merges neighbouring mappings, so a run
 * may have several owners. Each byte belongs to the first of these that contains its address:
 *   heap     a heap of glibc, or pages in which another allocator's blocks lie or lay
 *   own      a block with a mapping of its own, or a mapping that the program made through libc
 *   stack    of a thread, also after its end: glibc keeps stacks for later threads
 *   rest     no owner: the caller names the part (data of a module, mtrace's, or memory that was
 *            mapped without libc)
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_RESIDENT_PARTS_H
#define MTRACE_IMPORTER_RESIDENT_PARTS_H

#include "importer/log/checkpoint_io.h"
#include "importer/model/definitions.h"
#include "importer/totals/heap_ranges.h"
#include "importer/totals/mappings.h"
#include "importer/totals/memory_samples.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_range {
    uint64_t start, end;
};

/* Disjoint ranges in order of address. All zero: empty. */
struct address_ranges {
    struct address_range *all;
    size_t n, capacity;
};

void address_ranges_done(struct address_ranges *ranges);

/* The pages of a live block that lies in no heap. Adding what overlaps another range, or removing
 * what is not there, does nothing: a damaged log may do so. */
int address_ranges_add(struct address_ranges *ranges, uint64_t start, uint64_t end,
                       struct error *err);
void address_ranges_remove(struct address_ranges *ranges, uint64_t start);

/* *ret_until: where the answer changes. */
bool address_ranges_find(const struct address_ranges *ranges, uint64_t address,
                         uint64_t *ret_until);

void address_ranges_visit(struct address_ranges *ranges, struct checkpoint_io *io);

/* Where the stacks of all known threads of a process are; overlapping ones are joined. */
int resident_parts_find_stacks(const struct definitions *definitions, uint32_t process,
                               struct address_ranges *ret_stacks, struct error *err);

/* The owners in a process. */
struct resident_owners {
    struct memory_samples *samples;
    const struct heap_ranges *heaps;
    const struct address_ranges *blocks;
    const struct mappings *mappings;
    const struct address_ranges *stacks;
    uint32_t process;
};

/* Adds the resident bytes of [start, end) to parts of the sample that waits; `rest`: part of what
 * has no owner. */
void resident_parts_add(const struct resident_owners *owners, uint64_t start, uint64_t end,
                        uint64_t rss_bytes, enum memory_part rest);

#endif
