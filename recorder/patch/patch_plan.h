/* SPDX-License-Identifier: MIT */
/*
 * entry_plan: how the collector can see the calls of an allocator that is inside an executable.
 *
 * Model:   no library stands before functions of the executable. So the collector puts a jump to itself
 *          at the entry of each (collector/events/embedded_allocator.h). All that needs thought is done here,
 *          outside of the program: which functions (entry_names.h), whether their first instructions can
 *          move (trampoline.h), what to write. What it gets is a line of numbers, its setting
 *          MTRACE_INSIDE, which it only compares and copies:
 *              device,inode,size,partial;entry;entry…      of the file that was read
 *              shape,call,address,bytes there,bytes elsewhere[,at.end.target]…
 *              u,call,address                              for the entries behind it: usable bytes
 *          all numbers hexadecimal, addresses as in the file, fixes as in trampoline.h.
 * Invariants
 *   EP-1 All entries that give blocks back or resize them are in the plan, or there is none: blocks whose
 *        end nobody sees would be leaks. One that only makes blocks may be missing, and one that is
 *        never followed (entry_names.h), as what it calls mostly is; then the plan is partial and says
 *        of whom.
 *   EP-2 Nothing in the plan is called or changed but whole functions in code: no IFUNC, which is its
 *        resolver, and none with more arguments than are handed on.
 *   EP-3 Unless `any` is asked for, only jemalloc and tcmalloc are redirected, and only with a name beside
 *        their entries that nothing else has. A compiler that sees a function and its callers together may
 *        keep values in registers that it knows that function to leave alone (gcc's -fipa-ra): the two do
 *        not call their own entries, others do. And `mi_new` may be a menu's item. Why no stub keeps such
 *        registers: docs/architecture.md, "An allocator inside the executable".
 * Failure: no plan, with the reason.
 */
#ifndef MTRACE_RECORDER_PATCH_PLAN_H
#define MTRACE_RECORDER_PATCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>

enum {
    PATCH_PLAN_WHY_BYTES = 128,
    PATCH_PLAN_MAX_ENTRIES = 128,
};

struct patch_plan {
    const char *allocator; /* static, "jemalloc"; NULL: none is inside */
    char *text;            /* owned; NULL: nothing can be redirected */
    bool is_partial;
    char why[PATCH_PLAN_WHY_BYTES]; /* not all, or nothing; "" where all can */
};

struct elf_file;

/* The file may be anything. any: whatever has the names of an allocator (EP-3). */
void patch_plan_make(const char *path, bool any, struct patch_plan *ret_plan);
void patch_plan_read(const struct elf_file *file, bool any, struct patch_plan *ret_plan);
void patch_plan_done(struct patch_plan *plan);

#endif
