/* SPDX-License-Identifier: MIT */
/*
 * modules: which ELF object's code an address is, by load generation.
 *
 * Model:   every mapping of an object for a while is one module with one id; a library closed and
 *          another opened at the same address have different ids. Modules are found by
 *          _dl_find_object, never by dl_iterate_phdr, and defined in the log on first sight.
 * Invariants
 *   MO-1 A module's LOG_DEF_MODULE is committed before its id is returned.
 *   MO-2 modules_epoch changes (release) before and after code is unmapped by dlclose, munmap or
 *        mprotect of executable memory. Whoever caches what an address means compares it (acquire)
 *        once per capture.
 *   MO-3 What libc unloads by itself (iconv_close) passes no wrapper: it is noticed, and the epoch
 *        changes, before another module can be where it was: ld.so callocs the link map of each.
 * Tables given to __register_frame are not used, so __deregister_frame changes nothing.
 * Threads: any. Signals: safe. Failure: modules_find returns id 0.
 */
#ifndef MTRACE_COLLECTOR_MODULES_H
#define MTRACE_COLLECTOR_MODULES_H

#include "lib/abi/attr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct module {
    uint32_t id;              /* 0: no module has this address */
    uintptr_t start, end;     /* mapped range */
    uintptr_t load_address;   /* link_map.l_addr */
    const void *eh_frame_hdr; /* PT_GNU_EH_FRAME in memory, NULL if none; on ARM PT_ARM_EXIDX */
    uint32_t n_entries;       /* of the latter */
};

/* The module of a code address now, into *ret_module; false (and id 0) for JIT code and the like.
 */
bool modules_find(uintptr_t address, struct module *ret_module);

/* Read by modules_epoch only, which each capture calls. */
extern MTRACE_HIDDEN _Atomic uint32_t g_modules_epoch;

/* Current epoch (MO-2). */
static inline uint32_t modules_epoch(void)
{
    return atomic_load_explicit(&g_modules_epoch, memory_order_acquire);
}

/* Code in some range is going away or went away. */
void modules_bump_epoch(void);

/* Around dlclose: the epoch changes before and after. */
void modules_begin_unload(void);
void modules_end_unload(void);

/* In a fork child: those of threads that are not there never end. */
void modules_forget_unloads(void);

/* Asked after the epoch was read: false: what is loaded stays so until the epoch is another one. */
bool modules_are_unloading(void);

/* Writes the end of every module that is no longer where it was, and changes the epoch then. */
void modules_check_unloaded(void);

/* Finds ld.so. */
void modules_init(void);

/* Read by modules_is_loader only; written by modules_init. */
extern MTRACE_HIDDEN uintptr_t g_modules_loader_start, g_modules_loader_bytes;

/* The address is in ld.so: whoever callocs there may be about to load a module (MO-3). */
static inline bool modules_is_loader(uintptr_t address)
{
    return address - g_modules_loader_start < g_modules_loader_bytes;
}

/* In a fork child: the log is another one, where no module is defined yet. */
void modules_forget(void);

#endif
