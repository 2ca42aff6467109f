/* SPDX-License-Identifier: MIT */
/*
 * source_path: normalizes the path of a source file, so that each file has one spelling.
 *
 * Debug info names a file relative to the folder of the compiler, often through several "..", and
 * two units may spell it differently. The path is joined to that folder, and "//", "." and ".." are
 * resolved as text. The disk is not used: the sources are usually not on this machine.
 */
#ifndef MTRACE_SYMBOLIZER_SOURCE_PATH_H
#define MTRACE_SYMBOLIZER_SOURCE_PATH_H

#include <stddef.h>

/* Writes the normalized path, NUL-terminated, and returns its length; 0 if it does not fit in
 * `size` bytes. directory may be NULL. If both are relative the result is relative, without "./" in
 * front. */
size_t source_path_normalize(const char *directory, const char *file, char *ret_path, size_t size);

#endif
