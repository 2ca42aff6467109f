/* SPDX-License-Identifier: MIT */
#include "collector/platform/module_bounds.h"

#include "collector/arch/arch.h"

#include <dlfcn.h>

static void find_headers(struct module_bounds *bounds)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)bounds->start;

    if (!header || header->e_ident[EI_MAG0] != ELFMAG0 || header->e_ident[EI_MAG1] != ELFMAG1
        || header->e_phoff > ARCH_PAGE_BYTES
        || header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > ARCH_PAGE_BYTES)
        return;
    bounds->headers = (const ElfW(Phdr) *)(bounds->start + header->e_phoff);
    bounds->n_headers = header->e_phnum;
}

bool module_bounds_find(uintptr_t address, struct module_bounds *ret_bounds)
{
    struct dl_find_object found;

    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    if (!address || _dl_find_object((void *)address, &found) != 0)
        return false;
    *ret_bounds = (struct module_bounds){.map = found.dlfo_link_map,
                                         .start = (uintptr_t)found.dlfo_map_start,
                                         .end = (uintptr_t)found.dlfo_map_end};
    find_headers(ret_bounds);
    return true;
}
