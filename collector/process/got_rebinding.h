/* SPDX-License-Identifier: MIT */
/*
 * got_rebinding: redirects the calls of a running program's modules to us, and restores them.
 *
 * ld.so keeps the address of each function that a module uses in a word of the module: a GOT slot.
 * A slot is rebound if it belongs to one of our names and contains the real function that our
 * wrapper calls. Restoring needs no memory of that: a slot that contains our wrapper gets the real
 * function. Words through which ld.so itself calls the allocator are slots, too. In a program
 * started with us, ld.so has bound everything to us except libraries opened with RTLD_DEEPBIND.
 * No slot leads to a wrapper whose name a library of the program uses for a function of its own;
 * is_followed names the exception.
 *
 * Invariants
 *   RF-1 One compare-and-swap changes a slot, from the one value to the other. A concurrent change
 *        by another thread wins. After got_rebinding_set the next look examines all slots again.
 *   RF-2 A slot that ld.so has not resolved yet is changed only if it already holds the address of
 *        the module's own PLT stub; slots that ld.so is about to relocate are left alone. When
 *        restored it gets the real function, as after the first call.
 *   RF-3 A read-only page is made writable for the change only if ld.so protected it (RELRO) and
 *        has finished the module. Unfinished modules are examined later.
 *   RF-4 No module is unmapped while it is examined (loader_lock.h). No thread waits for the lock:
 *        a look that fails is repeated later.
 *   RF-5 In a program started with us only modules loaded later are changed, but for
 *        got_rebinding_restore_own_names. An unresolved slot is
 *        changed only if no other module defines the name: the library may depend on an allocator
 *        of its own.
 *   RF-6 ld.so appends modules to its list. Modules up to the last one changed need no second look
 *        while ld.so has unloaded none: after an unload the entry of the last one may be freed.
 *
 * Threads: any; one at a time examines modules. Async-signal-safe. On failure slots stay as they
 * are.
 */
#ifndef MTRACE_COLLECTOR_GOT_REBINDING_H
#define MTRACE_COLLECTOR_GOT_REBINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A wrapper. offset: of the real function of the same name in struct real. is_common: a library of
 * the program may define a function of this name that is not libc's and has other arguments.
 * is_of_allocator: but not the library that defines malloc. is_followed: references to a version of
 * the name lead to the wrapper, because they want libc's function; a preloaded library may have
 * replaced it. */
struct reference {
    const char *name;
    void *ours;
    size_t offset;
    bool is_common;
    bool is_of_allocator;
    bool is_followed;
};

enum {
    GOT_REBINDING_MAX = 100
};

/* Adds wrappers, while there is one thread. The array must live for ever. */
void got_rebinding_add(const struct reference *references, size_t n);

/* False: this ld.so is unknown, and nothing may be rebound. Waits for ld.so's lock as dlopen
 * would. */
bool got_rebinding_find_lock(void);

/* In a program started with us, before got_rebinding_follow. Returns as got_rebinding_find_lock. */
bool got_rebinding_prepare(void);

/* In a program started with us, after real_init: where a library defines a common name before libc
 * does, slots get the library's function. False: there is no such library, or ld.so was busy. */
bool got_rebinding_restore_own_names(void);

/* Rebinds the slots of all modules to us, or restores them. False: a module is not ready, or ld.so
 * or another thread is busy. */
bool got_rebinding_set(bool to_us);

struct got_rebinding_found {
    bool is_busy;         /* another thread or ld.so was busy: nothing was examined */
    uint32_t n_new;       /* modules that are new since the last look; 0: none, or unknown */
    uint32_t n_bound;     /* in a program started with us: modules that were not bound to us */
    uint32_t n_foreign;   /* likewise: modules whose malloc is neither ours nor the real one */
    uint32_t n_elsewhere; /* modules of other linker namespaces, which are left alone */
};

/* Rebinds modules loaded since the last look, if the others are bound to us. Returns as
 * got_rebinding_set. */
bool got_rebinding_follow(struct got_rebinding_found *ret_found);

/* The last look at the executable: it imports or defines functions that allocate, and no slot of
 * one leads to us. False if it calls C++ operators that call malloc in their library. */
bool got_rebinding_lacks_executable(void);

/* In a fork child: the thread that was busy does not exist here. */
void got_rebinding_forget(void);

#endif
