/* SPDX-License-Identifier: MIT */
/*
 * image_modules: which ranges of a heap image belong to the collector, or are shared memory. For
 * images of running processes and for cores.
 *
 * Threads: any.
 */
#ifndef MTRACE_LIB_IMAGE_MODULES_H
#define MTRACE_LIB_IMAGE_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path is that of a library of the collector. */
bool image_module_is_own(const char *path);

/* The path is that of shared memory, which is no data of a module. */
bool image_module_is_shared_memory(const char *path);

/* Where the last segment of a 64-bit ELF module ends, with its .bss, as a multiple of 4 KiB: the
 * kernel may join the .bss with later mappings of the program. bytes: the first of the module at
 * `start`. 0: unknown. */
uint64_t image_module_end(const void *bytes, size_t n_bytes, uint64_t start);

#endif
