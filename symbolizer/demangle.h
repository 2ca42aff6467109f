/* SPDX-License-Identifier: MIT */
/*
 * demangle: demangles C++, Rust and D symbols with libiberty.
 *
 * Any thread. The result is NULL for a name that is not mangled or invalid; the caller frees it.
 */
#ifndef MTRACE_SYMBOLIZER_DEMANGLE_H
#define MTRACE_SYMBOLIZER_DEMANGLE_H

#include <stdbool.h>

/* With return type and parameters, as `c++filt` prints it. */
char *demangle_full(const char *raw_name);

/* Only the qualified name, without return type and parameters, so that "std::*" matches functions
 * in std, but not functions that return a std::string. */
char *demangle_qualified(const char *raw_name);

#endif
