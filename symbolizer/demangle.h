/* SPDX-License-Identifier: MIT */
/*
 * demangle: C++, Rust and D symbols as people write them, by libiberty.
 *
 * Threads: any; no state.
 * Failure: a name that is not mangled, or makes no sense, has no demangled form: NULL.
 */
#ifndef MTRACE_SYMBOLIZER_DEMANGLE_H
#define MTRACE_SYMBOLIZER_DEMANGLE_H

#include <stdbool.h>

/* With return type and parameters, as `c++filt` prints it; the caller frees it. */
char *demangle_full(const char *raw_name);

/* The qualified name alone, without return type and parameters of the function itself, so that
 * "std::*" matches what lives in std and nothing that only returns a std::string; the caller frees
 * it. */
char *demangle_qualified(const char *raw_name);

#endif
