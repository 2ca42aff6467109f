/* SPDX-License-Identifier: MIT */
/*
 * unreached: calls of a program that do not reach the collector because a library calls its C
 * library directly.
 *
 * Cannot fail; the text may be cut.
 */
#ifndef MTRACE_LIB_UNREACHED_H
#define MTRACE_LIB_UNREACHED_H

#include <stddef.h>
#include <stdint.h>

struct unreached {
    uint64_t n_deepbound; /* opened with RTLD_DEEPBIND; their constructors were not recorded */
    uint64_t n_foreign;   /* of these, those that use another allocator than the program */
    uint64_t n_elsewhere; /* modules in other linker namespaces */
    uint64_t n_pointers;  /* pointers to allocator functions, from dlsym */
};

/* One line without its end; "" if there are no such calls. */
void unreached_format(const struct unreached *unreached, char *ret_text, size_t size);

#endif
