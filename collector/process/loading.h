/* SPDX-License-Identifier: MIT */
/*
 * loading: binds libraries that are loaded at run time to the collector.
 *
 * In a process that was attached to, ld.so binds no library to us. In a process started with us it
 * does not bind libraries opened with RTLD_DEEPBIND, which search their own dependencies first. Nor
 * does it bind those of other linker namespaces, which have their own libc.
 *
 * ld.so's calloc for a new module announces it. The next event that finds ld.so done with the
 * module changes its slots (got_rebinding.h): normally a free of ld.so itself, before the library's
 * constructors run. If that look fails, the next dlsym or event makes another.
 *
 * Invariants
 *   LO-1 In a process started with us no slot is changed before the program used RTLD_DEEPBIND or
 *        opened a namespace, except by got_rebinding_restore_own_names before main.
 *   LO-2 A library of another namespace is never bound to us: its blocks belong to its own libc. It
 *        is counted.
 *
 * Threads: any. Async-signal-safe. On failure the calls of the library are not recorded.
 */
#ifndef MTRACE_COLLECTOR_LOADING_H
#define MTRACE_COLLECTOR_LOADING_H

#include <stdbool.h>

/* Before main: notes the modules that are loaded now. They are bound to us. */
void loading_begin(void);

/* Before an open with RTLD_DEEPBIND or into another namespace. */
void loading_expect(void);

/* In ld.so's calloc: it may be about to load a module, and may have unloaded one. is_module: the
 * block is for a link map. */
void loading_note(bool is_module);

/* With the next event of a thread after loading_note. */
void loading_handle(void);

/* Before dlsym searches a library. */
void loading_look(void);

/* dlsym returned the real allocator function instead of our wrapper. */
void loading_count_pointer(void);

#endif
