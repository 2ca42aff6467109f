/* SPDX-License-Identifier: MIT */
/*
 * references: where calls of the modules of a running program lead: to us, and back.
 *
 * Model:   ld.so keeps the address of each function that a module uses in a word of the module: a slot. Of all modules the slots that
 *          belong to one of our names, and lead to the function behind ours, are changed. Nothing is remembered for the way back: a slot that
 *          leads to us is given the function behind. Words of ld.so's own, through which it calls the allocator, are slots, too.
 * Invariants
 *   RF-1 A slot is changed in one store, and only from the one value to the other: who changes it meanwhile wins.
 *   RF-2 A slot that ld.so has not resolved yet is changed only if ld.so has made it lead to ld.so: what it is about to relocate
 *        is left alone. It gets the function behind us on the way back, as if it had been called once.
 *   RF-3 Memory that ld.so has made read-only is that again afterwards; while it still is writable the module is not ready to lead to us, and is
 *        looked at later. On the way back nothing is waited for: in what was never ready no slot leads to us.
 *   RF-4 No module is unmapped while it is looked at: from a call of dlclose that comes through us a look stays away, and such a call waits for the
 *        look that has begun. Where the thread may wait, ld.so is asked to keep all modules meanwhile, whoever unmaps them.
 * Threads: one at a time, which references_lead ensures. Signals: blocked by the caller. Failure: what could not be changed leads where it did.
 */
#ifndef MTRACE_COLLECTOR_REFERENCES_H
#define MTRACE_COLLECTOR_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>

/* A function of ours; its name is where in struct real the function behind it is, too. */
struct reference {
    const char *name;
    void *ours;
    size_t offset;
};

enum {
    REFERENCES_MOST = 100
};

/* Which there are; lives for ever. Only the first call counts. */
void references_init(const struct reference *references, size_t n);

/* Of all modules: to us, or back; may_wait: for a thread that loads or unloads modules. False: a module is not ready, or another thread is at it. */
bool references_lead(bool to_us, bool may_wait);

/* Around a call that may unmap modules. */
void references_begin_unloading(void);
void references_end_unloading(void);

/* In a fork child: who was at it is not there. */
void references_forget(void);

#endif
