/* SPDX-License-Identifier: MIT */
/* symbolizer_options: where files with debug info may be. */
#ifndef MTRACE_SYMBOLIZER_SYMBOLIZER_OPTIONS_H
#define MTRACE_SYMBOLIZER_SYMBOLIZER_OPTIONS_H

#include <stdbool.h>

struct symbolizer_options {
    const char *const
        *debug_dirs;     /* searched before /usr/lib/debug; NULL-terminated; may be NULL */
    const char *sysroot; /* prefix of every object path; NULL: none */
    bool use_debuginfod; /* only when DEBUGINFOD_URLS is set, too */
};

#endif
