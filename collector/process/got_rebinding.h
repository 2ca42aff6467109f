/* SPDX-License-Identifier: MIT */
/*
 * references: where calls of the modules of a running program lead: to us, and back. In a program that was started with us, ld.so has bound
 * them to us, except those of libraries that were opened with RTLD_DEEPBIND.
 *
 * Model:   ld.so keeps the address of each function that a module uses in a word of the module: a slot. Of all modules the slots that
 *          belong to one of our names, and lead to the function behind ours, are changed. Nothing is remembered for the way back: a slot that
 *          leads to us is given the function behind. Words of ld.so's own, through which it calls the allocator, are slots, too.
 * Invariants
 *   RF-1 A slot is changed in one store, and only from the one value to the other: who changes it meanwhile wins.
 *   RF-2 A slot that ld.so has not resolved yet is changed only if ld.so has made it lead to ld.so: what it is about to relocate
 *        is left alone. It gets the function behind us on the way back, as if it had been called once.
 *   RF-3 A page that cannot be written is made so for the change only, if ld.so made it read-only and has finished the module; one that is not
 *        finished is looked at later.
 *   RF-4 No module is unmapped while it is looked at (loader_lock.h), and nobody waits for that: a look that cannot be had now is one for later.
 *   RF-5 In a program that was started with us only modules that were loaded later are changed. A slot that is not resolved yet is changed only if
 *        no other module defines the name: the library may have an allocator among its dependencies.
 *   RF-6 ld.so appends modules to its list, so those up to the last one that was changed need no second look until a module is unloaded.
 * Threads: any, of which one at a time looks. Signals: safe. Failure: what could not be changed leads where it did.
 */
#ifndef MTRACE_COLLECTOR_GOT_REBINDING_H
#define MTRACE_COLLECTOR_GOT_REBINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function of ours; its name is where in struct real the function behind it is, too. */
struct reference {
    const char *name;
    void *ours;
    size_t offset;
};

enum {
    GOT_REBINDING_MOST = 100
};

/* To those that there are, while there is one thread. They live for ever. */
void got_rebinding_add(const struct reference *references, size_t n);

/* False: ld.so is none that is known, and nothing may be led. Waits for it where dlopen would. */
bool got_rebinding_find_lock(void);

/* There, before got_rebinding_follow. Answers as got_rebinding_find_lock. */
bool got_rebinding_prepare(void);

/* Of all modules: to us, or back. False: a module is not ready, or ld.so or another thread is at them. */
bool got_rebinding_lead(bool to_us);

struct got_rebinding_found {
    bool is_busy;         /* another thread, or ld.so, was at them: nothing was looked at */
    uint32_t n_new;       /* modules that the last look did not find; 0: none, or not known */
    uint32_t n_bound;     /* modules of a program started with us that led past us until now */
    uint32_t n_foreign;   /* there: modules whose malloc is neither ours nor the one behind it */
    uint32_t n_elsewhere; /* modules of other linker namespaces, which are left alone */
};

/* To us what was loaded since, if the others lead to us; answers as got_rebinding_lead. */
bool got_rebinding_follow(struct got_rebinding_found *ret_found);

/* The last look at the executable found no slot to change: it calls none of our names, or its slots cannot be found or changed. */
bool got_rebinding_lack_executable(void);

/* In a fork child: who was at it is not there. */
void got_rebinding_forget(void);

#endif
