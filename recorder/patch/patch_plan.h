/* SPDX-License-Identifier: MIT */
/*
 * patch_plan: how the collector can see calls of an allocator inside an executable.
 *
 * A library cannot interpose functions of the executable, so the collector writes a jump at the
 * entry of each (collector/events/embedded_allocator.h). The recorder decides everything outside
 * the program: which functions (entry_names.h), whether their first instructions can be moved
 * (trampoline.h), and the bytes to write. The collector gets a line of numbers in the setting
 * MTRACE_INSIDE, which it only compares and copies:
 *
 *     device,inode,size,partial;entry;entry…      of the file that was read
 *     shape,call,address,bytes there,bytes elsewhere[,at.end.target]…
 *     u,call,address                              for the entries after it: usable size
 *
 * Numbers are hexadecimal, addresses as in the file, fixes as in trampoline.h.
 *
 * Invariants
 *   EP-1 The plan has all entries that free or resize blocks, or there is no plan: unmatched
 *        allocations would look like leaks.
 *   EP-2 The plan patches and calls only whole functions: no IFUNC (that is a resolver), none with
 *        more arguments than are forwarded.
 *   EP-3 Without `any` only jemalloc and tcmalloc are redirected, and only with a symbol that no
 *        other program has.
 *
 * Notes: An entry that only allocates may be missing, as may one marked '?' (entry_names.h),
 * because it usually calls others; then the plan is partial and names the allocator. EP-3: a
 * compiler that sees a function and its callers together may keep values in registers that the
 * function does not use (gcc's -fipa-ra). jemalloc and tcmalloc do not call their own entries,
 * others do. Also, `mi_new` may be a menu item. Why no stub preserves such registers:
 * docs/architecture.md, "An allocator inside the executable".
 *
 * Errors: no plan, with the reason.
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
    char why[PATCH_PLAN_WHY_BYTES]; /* why not all or nothing is redirected; "" if all is */
};

struct elf_file;

/* The file may be anything. any: accept any file with an allocator's function names (EP-3). */
void patch_plan_make(const char *path, bool any, struct patch_plan *ret_plan);
void patch_plan_read(const struct elf_file *file, bool any, struct patch_plan *ret_plan);
void patch_plan_done(struct patch_plan *plan);

#endif
