/* SPDX-License-Identifier: MIT */
/*
 * residency: how much of a mapping was in memory when it ended.
 *
 * Model:   the recorder looks at mappings from outside, now and then. What lives for a moment, or is
 *          touched just before the end, it never sees; so the process looks itself: at each stretch
 *          that munmap, mremap or MAP_FIXED is about to end, and at all that is left at its own end.
 *          Only private anonymous mappings are looked at: of those mincore says what this process
 *          has, of files what the page cache has. A small table knows where they lie.
 * Invariants
 *   RI-1 A look costs one system call for RESIDENT_PAGES_BATCH pages, and ends at RESIDENT_PAGES_MAX_ABSENT
 *        pages without memory: a page with memory was paid for by the fault that made it, which
 *        took some twenty times as long.
 *   RI-2 Where a look ends early, what was seen until then is told, and what is left as unknown
 *        (LOG_RESIDENT_UNKNOWN); whoever reads the log counts that. What finds no place in the table
 *        is told as unknown when it begins.
 *   RI-3 A stretch is told in runs of pages, up to RESIDENT_PAGES_MAX_RUNS, the rest as one: a reader
 *        that knows more of pieces than the kernel does gets what lies in each.
 *   RI-4 Ranges that the kernel refuses end nothing: such calls are told nowhere. Where the kernel
 *        refuses for another reason, what was taken out of the table is put back.
 * Threads: any; no locks. A place belongs to one thread while it changes, which takes no system call
 *          and no event; two threads that end one mapping at the same time may tell too little.
 * Signals: safe. Failure: unknown.
 */
#ifndef MTRACE_COLLECTOR_RESIDENT_PAGES_H
#define MTRACE_COLLECTOR_RESIDENT_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RESIDENT_PAGES_PLACES = 512,
    /* Smaller mappings are not looked at, as in recorder/session/memory_sampler.h. */
    RESIDENT_PAGES_MIN_BYTES = 65536,
    RESIDENT_PAGES_BATCH = 256,
    RESIDENT_PAGES_MAX_ABSENT = 4096,
    RESIDENT_PAGES_MAX_RUNS = 16,
    RESIDENT_PAGES_MAX_PIECES = 8,
};

/* What a call took out of the table. Of more pieces than fit, one stretch around them. */
struct resident_pages_cut {
    unsigned n;

    struct resident_pages_piece {
        uintptr_t start, end;
    } pieces[RESIDENT_PAGES_MAX_PIECES], others;
};

/* After a mapping was made. */
void resident_pages_mapped(const void *start, size_t length, int flags);

/*
 * Before a stretch of address space is given back or taken over: tells it, and what it cut. false: no
 * such range can be (RI-4), nothing was cut.
 */
bool resident_pages_ends(const void *start, size_t length, struct resident_pages_cut *ret_cut);

/* The stretch was not given back. */
void resident_pages_goes_on(const struct resident_pages_cut *cut);

/* At the end of the process: tells all that is left. */
void resident_pages_emit_all(void);

/* In a fork child: what it inherited is not its own. */
void resident_pages_forget(void);

#endif
