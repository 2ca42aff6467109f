/* SPDX-License-Identifier: MIT */
/*
 * mapped_memory: what the log says about the program's mappings beyond the calls that make and end
 * them: the files behind them, how much of each was in memory when it ended, and where glibc's
 * heaps are.
 *
 * Resident pages. The recorder looks at mappings from outside, now and then. It misses mappings
 * that live briefly, or are touched just before their end. So the process looks itself: at each
 * range that munmap, mremap or MAP_FIXED is about to end, and at its exit at all that is left. Only
 * private anonymous mappings are examined: for files, mincore reports the page cache and not this
 * process. A small table knows where the mappings are.
 *
 * Heaps. glibc grows its heaps by brk and in its arenas without calling a wrapper. The collector
 * therefore looks when the program calls malloc_info, mallinfo2 or malloc_trim, and when it exits.
 *
 * Invariants
 *   RI-1 A look costs one system call for RESIDENT_PAGES_BATCH pages and ends after
 *        RESIDENT_PAGES_MAX_ABSENT pages that are not in memory. A resident page has already cost a
 *        page fault, which took about twenty times as long.
 *   RI-2 If a look ends early, the part seen so far is reported and the rest is reported as unknown
 *        (LOG_RESIDENT_UNKNOWN); readers count that. A mapping that does not fit into the table is
 *        reported as unknown when it begins.
 *   RI-3 A range is reported as runs of resident pages, up to RESIDENT_PAGES_MAX_RUNS; the last run
 *        covers the rest. So a reader that knows parts of a mapping gets the value of each part.
 *   RI-4 An invalid range, which the kernel will refuse, ends nothing and is not reported. If the
 *        kernel refuses for another reason, the ranges go back into the table.
 *
 * Threads: any; no locks. One thread owns a place of the table while it changes; this takes no
 * system call and no event. Two threads that end one mapping at the same time may report too
 * little. Async-signal-safe, except mapped_memory_record_heaps. On failure nothing is recorded.
 */
#ifndef MTRACE_COLLECTOR_MAPPED_MEMORY_H
#define MTRACE_COLLECTOR_MAPPED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- resident pages ---- */

enum {
    RESIDENT_PAGES_PLACES = 512,
    /* Smaller mappings are ignored, as in recorder/session/memory_sampler.h. */
    RESIDENT_PAGES_MIN_BYTES = 65536,
    RESIDENT_PAGES_BATCH = 256,
    RESIDENT_PAGES_MAX_ABSENT = 4096,
    RESIDENT_PAGES_MAX_RUNS = 16,
    RESIDENT_PAGES_MAX_PIECES = 8,
};

/* Ranges that a call took out of the table. If there are too many, `others` covers the rest. */
struct resident_pages_cut {
    unsigned n;

    struct resident_pages_piece {
        uintptr_t start, end;
    } pieces[RESIDENT_PAGES_MAX_PIECES], others;
};

/* After a mapping was made. */
void resident_pages_mapped(const void *start, size_t length, int flags);

/* Before a range of addresses is unmapped or replaced: reports its residency and removes it from
 * the table. *ret_cut: what was removed. False: the range is invalid (RI-4), and nothing was
 * removed. */
bool resident_pages_ends(const void *start, size_t length, struct resident_pages_cut *ret_cut);

/* The range was not unmapped after all. */
void resident_pages_goes_on(const struct resident_pages_cut *cut);

/* At the end of the process: reports all ranges that are left. */
void resident_pages_emit_all(void);

/* In a fork child: forgets the mappings of the parent. */
void resident_pages_forget(void);

/* ---- files ---- */

/* The LOG_DEF_PATH id of the path behind an open descriptor of the program. Its definition is
 * committed. 0: no path. */
uint32_t mapped_memory_path_id(int fd);

/* In a fork child: forgets the known paths. */
void mapped_memory_forget_paths(void);

/* ---- heaps ---- */

/* Outside of recording. Writes a LOG_HEAP_EXTENT event for each heap in /proc/self/maps. */
void mapped_memory_record_heaps(void);

#endif
