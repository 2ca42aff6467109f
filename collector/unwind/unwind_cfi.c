/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_cfi.h"

#include "collector/log/modules.h"
#include "collector/os/sys.h"
#include "collector/unwind/exidx.h"
#include "collector/unwind/unwind_cache.h"

#include <link.h>
#include <stdatomic.h>

enum {
    ELF_HEADER_BYTES = 4096 /* program headers beyond these are ignored */
};

/* ---- where a module's CFI is ---- */

struct programs {
    const ElfW(Phdr) * headers;
    size_t n;
};

/* Of the executable. The kernel may have mapped it with gaps: then each part is a module. */
static struct programs programs_of_executable(void)
{
    return (struct programs){(const ElfW(Phdr) *)sys_auxiliary_value(AT_PHDR),
                             sys_auxiliary_value(AT_PHNUM)};
}

/* Of an object that ld.so mapped in one piece, or of the first part of one with gaps; the ELF
 * header is first. */
static struct programs programs_of_object(const struct module *module)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)module->start;
    uintptr_t n_bytes = module->end - module->start;

    if (n_bytes > ELF_HEADER_BYTES)
        n_bytes = ELF_HEADER_BYTES;
    if (n_bytes < sizeof(*header) || !sys_is_readable(module->start)
        || __builtin_memcmp(header->e_ident, ELFMAG, SELFMAG) != 0
        || header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > n_bytes
        || header->e_phnum > (n_bytes - header->e_phoff) / sizeof(ElfW(Phdr)))
        return (struct programs){NULL, 0};
    return (struct programs){(const ElfW(Phdr) *)(module->start + header->e_phoff),
                             header->e_phnum};
}

/* Bounds of the loaded segment that contains an address; there may be holes between segments. */
static bool find_bounds(struct programs programs, uintptr_t load_address, uintptr_t address,
                        uintptr_t *ret_low, uintptr_t *ret_high)
{
    for (size_t i = 0; i < programs.n; i++) {
        const ElfW(Phdr) *segment = &programs.headers[i];
        uintptr_t low = load_address + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && address >= low
            && address - low < segment->p_filesz) {
            *ret_low = low;
            *ret_high = low + segment->p_filesz;
            return *ret_low < *ret_high;
        }
    }
    return false;
}

/* Bounds of a module's CFI if plain loads can read it. */
static bool find_plain_bounds(const struct module *module, bool is_trusted, uintptr_t *ret_low,
                              uintptr_t *ret_high)
{
    uintptr_t hdr = (uintptr_t)module->eh_frame_hdr;

    if (hdr < module->start || hdr >= module->end)
        return find_bounds(programs_of_executable(), module->load_address, hdr, ret_low, ret_high);
    return is_trusted
           && find_bounds(programs_of_object(module), module->load_address, hdr, ret_low, ret_high)
           && *ret_low >= module->start && *ret_high <= module->end;
}

/* The last section is cached, except during a change: a handler that leaves by siglongjmp then
 * leaves no section (TH-5). */
static bool find_section(const struct module *module, uint32_t epoch, bool is_trusted,
                         struct unwind_cfi_scratch *scratch)
{
    struct cfi_section *section = &scratch->section;

    if (module->eh_frame_hdr == NULL)
        return false;
    section->copy = is_trusted ? NULL : unwind_code_copy;
    if (scratch->section_module == module->id && scratch->section_epoch == epoch)
        return true;
    scratch->section_module = 0;
    atomic_signal_fence(memory_order_seq_cst);
    section->ret_is_unmapped = &scratch->is_unmapped;
    section->hdr = (uintptr_t)module->eh_frame_hdr;
    section->n_entries = module->n_entries;
    scratch->section_epoch = epoch;
    if (find_plain_bounds(module, is_trusted, &section->low, &section->high)) {
        atomic_signal_fence(memory_order_seq_cst);
        scratch->section_module = module->id;
        return true;
    }
    /* copying detects what is unreadable, now and later */
    section->low = module->start;
    section->high = module->end;
    section->copy = unwind_code_copy;
    return true;
}

static enum cfi_result find_row(uintptr_t address, struct unwind_cfi_scratch *scratch)
{
#if ARCH_HAS_EXIDX
    return exidx_find_row(&scratch->section, address, &scratch->row);
#else
    return cfi_find_row(&scratch->section, address, &scratch->cfi, &scratch->row);
#endif
}

/*
 * A return address that no call can have left: it is the first byte of a function, and the byte
 * before belongs to none. This is the bottom of a stack made by hand, as by makecontext; its row
 * says that there is no caller. Where much code has no rows, a function without CFI may end there
 * with a call that does not return.
 */
static bool find_bottom(uintptr_t address, struct unwind_cfi_scratch *scratch)
{
    struct cfi_row *row = &scratch->row;

    if (ARCH_HAS_CODE_FRAMES && unwind_code_is_behind_call(address + 1))
        return false;
    if (find_row(address + 1, scratch) != CFI_FOUND || row->start != address + 1)
        return false;
    row->registers[row->return_column].kind = CFI_UNDEFINED;
    return true;
}

/* The kernel's layout: each register is a word above the stack pointer. */
static void describe_signal_frame(int context, struct cfi_row *row)
{
    *row = (struct cfi_row){.cfa = {.n = ARCH_SP, .kind = CFI_IN_REGISTER},
                            .return_column = ARCH_RA,
                            .is_signal_frame = true};
    for (unsigned number = 0; number < ARCH_N_REGISTERS; number++) {
        int offset = arch_signal_offset(number);
        if (offset >= 0)
            row->registers[number] =
                (struct cfi_rule){.offset = context + offset, .kind = CFI_AT_CFA};
    }
}

/* The bottom of a stack made by hand, where libc's code has no CFI. */
static void describe_bottom(struct cfi_row *row)
{
    *row =
        (struct cfi_row){.cfa = {.n = ARCH_SP, .kind = CFI_IN_REGISTER}, .return_column = ARCH_RA};
    row->registers[ARCH_RA].kind = CFI_UNDEFINED;
}

static _Atomic uintptr_t g_bottoms[2]; /* the same for all threads */

void unwind_cfi_set_bottom(unsigned which, uintptr_t pc)
{
    atomic_store_explicit(&g_bottoms[which], pc, memory_order_relaxed);
}

static bool is_thread_bottom(uintptr_t pc)
{
    for (unsigned i = 0; i < 2; i++)
        if (atomic_load_explicit(&g_bottoms[i], memory_order_relaxed) == pc)
            return true;
    return false;
}

/* Code that is recognized by its instructions alone: the return of a signal handler, or a
 * bottom. */
static bool find_by_code(uintptr_t address, bool is_trusted, struct unwind_cfi_scratch *scratch)
{
    uint8_t code[8];
    int context;

    if (ARCH_HAS_SIGNAL_CFI || !sys_is_readable(address + 1))
        return false;
    if (is_trusted)
        __builtin_memcpy(code, (const void *)(address + 1), sizeof(code));
    else if (!unwind_code_copy(code, address + 1, sizeof(code)))
        return false;
    context = arch_signal_context(code);
    if (context >= 0)
        describe_signal_frame(context, &scratch->row);
    else if (arch_is_stack_bottom(code) || (ARCH_HAS_EXIDX && is_thread_bottom(address + 1)))
        describe_bottom(&scratch->row);
    else
        return false;
    return true;
}

enum cfi_result unwind_cfi_find_row(uintptr_t address, uint32_t epoch, bool is_trusted,
                                    struct unwind_cfi_scratch *scratch, uint32_t *ret_module)
{
    struct module module;
    enum cfi_result result;

    *ret_module = 0;
    scratch->is_unmapped = false;
    if (!modules_find(address, &module))
        return find_by_code(address, is_trusted, scratch) ? CFI_FOUND : CFI_NO_ENTRY;
    *ret_module = module.id;
    if (!find_section(&module, epoch, is_trusted, scratch))
        return find_by_code(address, is_trusted, scratch)
                       || unwind_code_find_row(address, module.start, &scratch->code, &scratch->row)
                   ? CFI_FOUND
                   : CFI_NO_ENTRY;
    result = find_row(address, scratch);
    if ((result != CFI_FOUND || scratch->row.is_signal_frame || ARCH_HAS_EXIDX)
        && find_by_code(address, is_trusted, scratch))
        return CFI_FOUND;
    if (result == CFI_NO_ENTRY
        && (find_bottom(address, scratch)
            || unwind_code_find_row(address, module.start, &scratch->code, &scratch->row)))
        return CFI_FOUND;
    return result;
}

/* ---- rules and the cache ---- */

/* A rule of an older epoch holds if the same module (by generation) is still loaded. */
static bool renew(uintptr_t address, uint32_t epoch, struct unwind_rule *ret_rule)
{
    struct module module;

    if (!unwind_cache_find_former(address, ret_rule) || !modules_find(address, &module)
        || module.id != ret_rule->module)
        return false;
    unwind_cache_confirm(module.id, epoch);
    return true;
}

struct unwind_rule unwind_cfi_make_rule_slow(uintptr_t address, uint32_t epoch, bool is_trusted,
                                             struct unwind_cfi_scratch *scratch)
{
    struct unwind_rule rule;
    uint32_t module;

    if (renew(address, epoch, &rule))
        return rule;
    if (unwind_cfi_find_row(address, epoch, is_trusted, scratch, &module) == CFI_FOUND)
        rule = unwind_rule_of_row(&scratch->row, module);
    else
        rule = (struct unwind_rule){.module = module, .kind = UNWIND_RULE_GUESS};
    /* addresses outside of modules are cached as code to guess in */
    if (!scratch->is_unmapped && (module != 0 || rule.kind == UNWIND_RULE_GUESS))
        unwind_cache_put(address, epoch, &rule);
    return rule;
}
