/* SPDX-License-Identifier: MIT */
/*
 * root_names: the variable at an address of a module's data, from the module's symbol table or its
 * separate debug file (libdwfl finds both).
 *
 * Threads: one.
 */
#ifndef MTRACE_IMPORTER_ROOT_NAMES_H
#define MTRACE_IMPORTER_ROOT_NAMES_H

#include "importer/image/image_file.h"

struct root_names;

/* NULL without memory: then nothing has a name. */
struct root_names *root_names_new(const struct image_file *image);

void root_names_free(struct root_names *names);

/* The symbol that contains the address, and the distance from its start; NULL: there is none, the
 * offset is that in the module. `range` is one of the module's. The text is valid until
 * root_names_free. */
const char *root_names_find(struct root_names *names, const struct image_range *range,
                            uint64_t address, uint64_t *ret_offset);

#endif
