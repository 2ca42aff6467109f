/* SPDX-License-Identifier: MIT */
/*
 * image_dwfl: the files of a heap image as modules of libdwfl, where the process had mapped them.
 * libdwfl also finds their separate debug files.
 *
 * Threads: one.
 */
#ifndef MTRACE_IMPORTER_IMAGE_DWFL_H
#define MTRACE_IMPORTER_IMAGE_DWFL_H

#include "importer/image/image_file.h"

#include <elfutils/libdwfl.h>

/* NULL without memory. End it with dwfl_end. */
Dwfl *image_dwfl_new(const struct image_file *image);

/* The variable that contains the address, and the distance from its start. NULL: none does, then
 * the offset is in the module. `range` is one of the module's. The text is valid until dwfl_end. */
const char *image_dwfl_find_variable(Dwfl *dwfl, const struct image_file *image,
                                     const struct image_range *range, uint64_t address,
                                     uint64_t *ret_offset);

#endif
