/* SPDX-License-Identifier: MIT */
/*
 * module_bounds: where a module lies that ld.so has finished loading.
 *
 * Model:   _dl_find_object knows a module from when it is relocated and what is read-only of it is so, until it is about to be unmapped.
 *          If an executable's segments have gaps, it knows each segment of it as if that were a module.
 * Threads: any; what is found stays as long as the module does. Signals: safe. Failure: false.
 */
#ifndef MTRACE_COLLECTOR_MODULE_BOUNDS_H
#define MTRACE_COLLECTOR_MODULE_BOUNDS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module_bounds {
    const struct link_map *map;
    uintptr_t start, end; /* of the module, or of one segment of an executable with gaps */
    const ElfW(Phdr) * headers;
    size_t n_headers; /* 0: they are elsewhere than at its start */
};

/* Of the module that has the address. */
bool module_bounds_find(uintptr_t address, struct module_bounds *ret_bounds);

/* From the first segment of the module to the end of the last one. Between segments there may be other mappings. False: ld.so has
 * not finished it. */
bool module_bounds_find_all(const struct link_map *map, struct module_bounds *ret_bounds);

/* Before main: from here on the modules that are loaded now are initial ones, which are never unloaded. */
void module_bounds_note_start(void);

/* The last initial module; NULL: there was no such call, as in an attached process. */
const struct link_map *module_bounds_last_at_start(void);

/* False in an attached process. */
bool module_bounds_is_initial(const struct link_map *map);

#endif
