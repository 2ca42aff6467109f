/* SPDX-License-Identifier: MIT */
/*
 * module_bounds: address ranges of modules that ld.so has finished loading.
 *
 * _dl_find_object knows a module after its relocation, when its read-only parts are protected,
 * until it is about to be unmapped. If an executable's segments have gaps, _dl_find_object treats
 * each segment as a module.
 *
 * Any thread; a result is valid as long as the module is loaded. Async-signal-safe. False on
 * failure.
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
    size_t n_headers; /* 0: they are not at its start */
};

/* The module that contains the address. */
bool module_bounds_find(uintptr_t address, struct module_bounds *ret_bounds);

/* From the first segment of the module to the end of the last one; other mappings may lie between.
 * False: ld.so has not finished loading it. */
bool module_bounds_find_all(const struct link_map *map, struct module_bounds *ret_bounds);

/* Call before main: modules loaded now are the initial ones, which are never unloaded. */
void module_bounds_note_start(void);

/* The last initial module; NULL without such a call, as in an attached process. */
const struct link_map *module_bounds_last_at_start(void);

/* False in an attached process. */
bool module_bounds_is_initial(const struct link_map *map);

#endif
