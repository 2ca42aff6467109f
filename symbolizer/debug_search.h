/* SPDX-License-Identifier: MIT */
/*
 * debug_search: tries the places where this machine may have a debug file (debug_files.h), then the
 * servers in DEBUGINFOD_URLS.
 *
 * The first file that matches is used. libdebuginfod is loaded only on a lookup and if the variable
 * is set: mtrace does not depend on it and does not use the network on its own. The library caches
 * what it fetched. Any thread; each call has its own client.
 */
#ifndef MTRACE_SYMBOLIZER_DEBUG_SEARCH_H
#define MTRACE_SYMBOLIZER_DEBUG_SEARCH_H

#include "symbolizer/elf_image.h"
#include "symbolizer/symbolizer_options.h"

struct debug_search {
    const struct symbolizer_options *options;
    const char *path;               /* of the object, as seen by the program */
    const char *build_id;           /* recorded, or that of the object; NULL: none */
    const char *architecture;       /* likewise; NULL: unknown */
    const struct elf_image *object; /* elf is NULL: missing or not the recorded one */
};

/* Finds the object by its build id if it is not at its path. */
bool debug_search_object(const struct debug_search *search, struct elf_image *ret_image);

/* Fetches the object from debuginfod. */
bool debug_search_object_far(const struct debug_search *search, struct elf_image *ret_image);

/* Finds the file with the object's DWARF. */
bool debug_search_dwarf(const struct debug_search *search, struct elf_image *ret_image);

/* Finds the file that .gnu_debugaltlink of `dwarf_path` names. */
bool debug_search_alternate(const struct debug_search *search, const char *dwarf_path,
                            const char *name, const char *build_id, struct elf_image *ret_image);

#endif
