/* SPDX-License-Identifier: MIT */
/*
 * modules: maps a code address to the ELF module that it belongs to at this time.
 *
 * Each mapping of an object, while it lasts, is one module with one id. A library that is closed
 * and another one opened at the same address have different ids. Modules are found by
 * _dl_find_object, never by dl_iterate_phdr, and defined in the log when they are first seen.
 *
 * Invariants
 *   MO-1 The LOG_DEF_MODULE of a module is committed before its id is returned.
 *   MO-2 modules_epoch changes (release) before and after code is unmapped by dlclose, munmap or
 *        mprotect of executable memory. A cache of what addresses mean compares it (acquire) once
 *        per capture.
 *   MO-3 Libraries that libc unloads itself (iconv_close) pass no wrapper. This is noticed, and the
 *        epoch changes, before another module can take their place: ld.so callocs the link map of
 *        each module.
 *
 * Threads: any. Async-signal-safe. On failure modules_find returns id 0. Tables given to
 * __register_frame are not used, so __deregister_frame changes nothing.
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
    uint32_t n_entries;       /* entries of PT_ARM_EXIDX */
};

/* Finds the module of a code address. False, and id 0: generated code and the like. */
bool modules_find(uintptr_t address, struct module *ret_module);

/* Read only by modules_epoch, which each capture calls. */
extern MTRACE_HIDDEN _Atomic uint32_t g_modules_epoch;

/* Current epoch (MO-2). */
static inline uint32_t modules_epoch(void)
{
    return atomic_load_explicit(&g_modules_epoch, memory_order_acquire);
}

/* Code in some range is about to be unmapped, or was. */
void modules_bump_epoch(void);

/* Around dlclose: the epoch changes before and after. */
void modules_begin_unload(void);
void modules_end_unload(void);

/* In a fork child: unloads of the parent's other threads never end. */
void modules_forget_unloads(void);

/* Call it after the epoch was read. False: what is loaded stays until the epoch changes. */
bool modules_are_unloading(void);

/* Writes the end of every module that is not mapped any more. If there are any, changes the
 * epoch. */
void modules_check_unloaded(void);

/* Finds the address range of ld.so. */
void modules_init(void);

/* Read only by modules_is_loader; written by modules_init. */
extern MTRACE_HIDDEN uintptr_t g_modules_loader_start, g_modules_loader_bytes;

/* True if the address is in ld.so. A calloc by it may mean that a module is about to be loaded
 * (MO-3). */
static inline bool modules_is_loader(uintptr_t address)
{
    return address - g_modules_loader_start < g_modules_loader_bytes;
}

/* In a fork child: the new log has no modules yet. */
void modules_forget(void);

#endif
