/* SPDX-License-Identifier: MIT */
/* debian_package: finds the Debian package that contains a file, and the package with its debug
 * info. */
#ifndef MTRACE_SYMBOLIZER_DEBIAN_PACKAGE_H
#define MTRACE_SYMBOLIZER_DEBIAN_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the name of the installed package that owns `path`. False: not a Debian system, no package
 * owns it, or the name does not fit. Takes some milliseconds to read dpkg's file lists. */
bool debian_package_find(const char *path, char *ret_package, size_t size);

/* Writes the name of the package with the debug info of `package`. *ret_is_in_main: it is in
 * Debian's main archive, else in the archive of debug symbols. */
bool debian_package_debug_name(const char *package, char *ret_name, size_t size,
                               bool *ret_is_in_main);

#endif
