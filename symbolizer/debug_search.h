/* SPDX-License-Identifier: MIT */
/*
 * debug_search: where on this machine a debug file could be.
 *
 * Model: the places of debug_files.h, tried one after the other; the first file that is the right
 *        one wins.
 */
#ifndef MTRACE_SYMBOLIZER_DEBUG_SEARCH_H
#define MTRACE_SYMBOLIZER_DEBUG_SEARCH_H

#include "symbolizer/elf_image.h"
#include "symbolizer/symbolizer_options.h"

struct debug_search {
    const struct symbolizer_options *options;
    const char *path;               /* of the object, as the program saw it */
    const char *build_id;           /* recorded, else the object's own; NULL: it has none */
    const char *architecture;       /* the same; NULL: not known */
    const struct elf_image *object; /* elf is NULL: not there, or not the recorded one */
};

/* Finds the object itself where it does not lie at its path, by its build-id. */
bool debug_search_object(const struct debug_search *search, struct elf_image *ret_image);

/* Asks debuginfod for it. */
bool debug_search_object_far(const struct debug_search *search, struct elf_image *ret_image);

/* Finds the file with the object's DWARF. */
bool debug_search_dwarf(const struct debug_search *search, struct elf_image *ret_image);

/* Finds the file that .gnu_debugaltlink of `dwarf_path` names. */
bool debug_search_alternate(const struct debug_search *search, const char *dwarf_path,
                            const char *name, const char *build_id, struct elf_image *ret_image);

#endif
