/* SPDX-License-Identifier: MIT */
/*
 * loading: libraries that the program loads while it runs, and whose calls do not arrive at us by themselves.
 *
 * Model:   in a process that was attached to, ld.so binds no library to us. In one that was started with us, it binds all but those that
 *          are opened with RTLD_DEEPBIND, which look into their own dependencies first, and those of other linker namespaces, which have a
 *          C library of their own. ld.so's calloc for a new module tells us that one may come. Its references are changed (got_rebinding.h) by
 *          the next event that finds ld.so done with it: a free by ld.so itself, before it calls the library's constructors. If that look
 *          fails, the next dlsym or event makes another.
 * Invariants
 *   LO-1 In a process that was started with us no reference is changed before the program gave RTLD_DEEPBIND, or opened a namespace.
 *   LO-2 A library of another namespace is never bound to us: its blocks belong to its own C library. It is counted.
 * Threads: any. Signals: safe. Failure: the library's calls are not recorded.
 */
#ifndef MTRACE_COLLECTOR_LOADING_H
#define MTRACE_COLLECTOR_LOADING_H

#include <stdbool.h>

/* Before main: the modules that are there now are bound to us. */
void loading_begin(void);

/* Before dlopen or dlmopen: an open with RTLD_DEEPBIND, or into another namespace. */
void loading_expect(void);

/* In ld.so's calloc: it may be about to load a module, and may have unloaded one. is_module: it makes the entry of a module. */
void loading_note(bool is_module);

/* The next event of a thread, once loading_note asked for it. */
void loading_handle(void);

/* Before a library is looked into. */
void loading_look(void);

/* dlsym gave the program a function of the allocator that stands behind ours. */
void loading_count_pointer(void);

#endif
