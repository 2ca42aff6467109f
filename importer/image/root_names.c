/* SPDX-License-Identifier: MIT */
#include "importer/image/root_names.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

struct root_names {
    const struct image_file *image;
    Dwfl *dwfl;
    Dwfl_Module **modules; /* by path offset in the image; looked up once */
    bool *is_known;
};

static char *g_debug_path; /* NULL: libdwfl's default */

static const Dwfl_Callbacks g_callbacks = {.find_elf = dwfl_build_id_find_elf,
                                           .find_debuginfo = dwfl_standard_find_debuginfo,
                                           .section_address = dwfl_offline_section_address,
                                           .debuginfo_path = &g_debug_path};

struct root_names *root_names_new(const struct image_file *image)
{
    struct root_names *names = calloc(1, sizeof *names);

    if (!names)
        return NULL;
    names->image = image;
    names->dwfl = dwfl_begin(&g_callbacks);
    names->modules = calloc(image->n_path_bytes, sizeof(Dwfl_Module *));
    names->is_known = calloc(image->n_path_bytes, sizeof *names->is_known);
    if (names->dwfl && names->modules && names->is_known)
        return names;
    root_names_free(names);
    return NULL;
}

void root_names_free(struct root_names *names)
{
    if (!names)
        return;
    if (names->dwfl)
        dwfl_end(names->dwfl);
    free(names->modules);
    free(names->is_known);
    free(names);
}

/* Where the file begins in memory; NULL: only a part of it is mapped. */
static const struct image_range *first_of(const struct image_file *image,
                                          const struct image_range *range)
{
    for (size_t i = 0; i < image->n_ranges; i++)
        if (image->ranges[i].path == range->path && image->ranges[i].file_offset == 0)
            return &image->ranges[i];
    return NULL;
}

static Dwfl_Module *module_of(struct root_names *names, const struct image_range *range)
{
    const struct image_range *first = first_of(names->image, range);

    if (names->is_known[range->path])
        return names->modules[range->path];
    names->is_known[range->path] = true;
    if (first)
        names->modules[range->path] =
            dwfl_report_elf(names->dwfl, image_file_path(names->image, range),
                            image_file_path(names->image, range), -1, first->start, false);
    return names->modules[range->path];
}

const char *root_names_find(struct root_names *names, const struct image_range *range,
                            uint64_t address, uint64_t *ret_offset)
{
    Dwfl_Module *module = module_of(names, range);
    const struct image_range *first = first_of(names->image, range);
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char *name =
        module ? dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL) : NULL;

    if (name && offset < symbol.st_size) {
        *ret_offset = offset;
        return name;
    }
    *ret_offset = address - (first ? first->start : range->start);
    return NULL;
}
