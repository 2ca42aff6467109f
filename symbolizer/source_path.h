/* SPDX-License-Identifier: MIT */
/*
 * source_path: one spelling for each source file.
 *
 * Model: debug info names a file relative to the folder its compiler ran in, through as many ".."
 *        as the build system liked; two units often spell the same file differently. The path is
 *        joined to that folder and "//", "." and ".." are folded as text, without looking at the
 *        disk: the sources are usually not on this machine.
 */
#ifndef MTRACE_SYMBOLIZER_SOURCE_PATH_H
#define MTRACE_SYMBOLIZER_SOURCE_PATH_H

#include <stddef.h>

/* Writes the normalized path, NUL-terminated, and returns its length. directory may be NULL. Where
 * both are relative the result is relative, without "./" in front. A path that does not fit in
 * `size` bytes gives 0. */
size_t source_path_normalize(const char *directory, const char *file, char *ret_path, size_t size);

#endif
