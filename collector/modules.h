/* SPDX-License-Identifier: MIT */
/*
 * modules: which ELF object's code an address is, by load generation.
 *
 * Model:   every mapping of an object for a while is one module with one id; a library closed and
 *          another opened at the same address have different ids. Modules are found by
 *          _dl_find_object, never by dl_iterate_phdr, and defined in the log on first sight.
 * Invariants
 *   MO-1 A module's LOG_DEF_MODULE is committed before its id is returned.
 *   MO-2 modules_epoch changes (release) before and after code is unmapped: dlclose, munmap or
 * mprotect of executable memory, __deregister_frame. Whoever caches what an address means compares
 * it (acquire) once per capture. Threads: any. Signals: safe. Failure: modules_find returns id 0.
 */
#ifndef MTRACE_COLLECTOR_MODULES_H
#define MTRACE_COLLECTOR_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct module {
    uint32_t id;              /* 0: no module has this address */
    uintptr_t start, end;     /* mapped range */
    uintptr_t load_address;   /* link_map.l_addr */
    const void *eh_frame_hdr; /* PT_GNU_EH_FRAME in memory, NULL if none */
};

/* The module of a code address now, into *ret_module; false (and id 0) for JIT code and the like.
 */
bool modules_find(uintptr_t address, struct module *ret_module);

/* Read by modules_epoch only, which each capture calls. */
extern _Atomic uint32_t g_modules_epoch;

/* Current epoch (MO-2). */
static inline uint32_t modules_epoch(void)
{
    return atomic_load_explicit(&g_modules_epoch, memory_order_acquire);
}

/* Code in some range is going away or went away. */
void modules_bump_epoch(void);

/* After a dlclose: writes the end of every module that is no longer where it was. */
void modules_check_unloaded(void);

/* In a fork child: the log is another one, where no module is defined yet. */
void modules_forget(void);

#endif
