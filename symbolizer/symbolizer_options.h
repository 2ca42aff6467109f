/* SPDX-License-Identifier: MIT */
/* symbolizer_options: where files with debug info may be. */
#ifndef MTRACE_SYMBOLIZER_SYMBOLIZER_OPTIONS_H
#define MTRACE_SYMBOLIZER_SYMBOLIZER_OPTIONS_H

#include <stdbool.h>

struct debug_index;
struct kept_file;

struct symbolizer_options {
    const char *const
        *debug_dirs;           /* searched before /usr/lib/debug; NULL-terminated; may be NULL */
    const char *sysroot;       /* root of the machine that recorded; NULL: it was this one */
    struct debug_index *index; /* of debug_dirs; NULL: files there are found by their names alone */
    bool use_debuginfod;       /* only when DEBUGINFOD_URLS is set, too */
};

/* An object as it was recorded. */
struct symbolizer_object {
    const char *path;               /* that the program mapped; "[vdso]": the vdso */
    const char *build_id;           /* lower-case hex; NULL: unknown */
    const char *architecture;       /* as objects.architecture; NULL: unknown */
    const char *const *other_paths; /* of copies; NULL-terminated; may be NULL */
    const struct kept_file *kept; /* what the log has of the file; NULL or without bytes: nothing */
};

#endif
