/* SPDX-License-Identifier: MIT */
#include "importer/image/image_dwfl.h"

static char *g_debug_path; /* NULL: libdwfl's default */

static const Dwfl_Callbacks g_callbacks = {.find_elf = dwfl_build_id_find_elf,
                                           .find_debuginfo = dwfl_standard_find_debuginfo,
                                           .section_address = dwfl_offline_section_address,
                                           .debuginfo_path = &g_debug_path};

/* A module is a file whose beginning is mapped. */
Dwfl *image_dwfl_new(const struct image_file *image)
{
    Dwfl *dwfl = dwfl_begin(&g_callbacks);

    for (size_t i = 0; dwfl && i < image->n_ranges; i++) {
        const char *path = image_file_path(image, &image->ranges[i]);

        if (*path == '/' && image->ranges[i].file_offset == 0
            && (image->ranges[i].flags & IMAGE_SHARED) == 0)
            (void)dwfl_report_elf(dwfl, path, path, -1, image->ranges[i].start, false);
    }
    if (dwfl)
        (void)dwfl_report_end(dwfl, NULL, NULL);
    return dwfl;
}

static uint64_t start_of_module(const struct image_file *image, const struct image_range *range)
{
    for (size_t i = 0; i < image->n_ranges; i++)
        if (image->ranges[i].path == range->path && image->ranges[i].file_offset == 0)
            return image->ranges[i].start;
    return range->start; /* only a part of the file is mapped */
}

const char *image_dwfl_find_variable(Dwfl *dwfl, const struct image_file *image,
                                     const struct image_range *range, uint64_t address,
                                     uint64_t *ret_offset)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, address);
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char *name =
        module ? dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL) : NULL;

    if (name && offset < symbol.st_size) {
        *ret_offset = offset;
        return name;
    }
    *ret_offset = address - start_of_module(image, range);
    return NULL;
}
