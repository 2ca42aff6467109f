/* SPDX-License-Identifier: MIT */
/*
 * unreached: the calls of a program that do not reach the collector, because a library calls its C library directly.
 *
 * Failure: none; the text is cut.
 */
#ifndef MTRACE_LIB_UNREACHED_H
#define MTRACE_LIB_UNREACHED_H

#include <stddef.h>
#include <stdint.h>

struct unreached {
    uint64_t
        n_deepbound; /* modules opened with RTLD_DEEPBIND: what their constructors did was not recorded */
    uint64_t n_foreign;   /* modules opened with it that use another allocator than the program */
    uint64_t n_elsewhere; /* modules in other linker namespaces */
    uint64_t n_pointers;  /* to functions of the allocator, from dlsym */
};

/* One line without its end; "" if there are none. */
void unreached_format(const struct unreached *unreached, char *ret_text, size_t size);

#endif
