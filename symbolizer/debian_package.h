/* SPDX-License-Identifier: MIT */
/*
 * debian_package: which package a file came with, and which one has its debug info.
 */
#ifndef MTRACE_SYMBOLIZER_DEBIAN_PACKAGE_H
#define MTRACE_SYMBOLIZER_DEBIAN_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the name of the installed package that owns `path`. False: not a Debian system, no package
 * owns it, or the name does not fit. Reads dpkg's lists of files, some milliseconds. */
bool debian_package_find(const char *path, char *ret_package, size_t size);

/* Writes the name of the package that holds the debug info of `package`. Also says whether it is in
 * Debian's main archive; else it is in the archive of debug symbols. */
bool debian_package_debug_name(const char *package, char *ret_name, size_t size,
                               bool *ret_is_in_main);

#endif
