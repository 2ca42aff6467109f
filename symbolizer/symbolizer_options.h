/* SPDX-License-Identifier: MIT */
/* symbolizer_options: options for finding debug info, and the recorded object. */
#ifndef MTRACE_SYMBOLIZER_SYMBOLIZER_OPTIONS_H
#define MTRACE_SYMBOLIZER_SYMBOLIZER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct debug_index;
struct kept_file;

struct symbolizer_options {
    const char *const
        *debug_dirs;           /* searched before /usr/lib/debug; NULL-terminated; may be NULL */
    const char *sysroot;       /* root folder of the recording machine; NULL: this machine */
    struct debug_index *index; /* of debug_dirs; NULL: files are found by name only */
    bool use_debuginfod;       /* also requires DEBUGINFOD_URLS */
    int64_t recorded_ns;       /* last write of the log, ns since 1970; 0: unknown */
};

/* A recorded object. */
struct symbolizer_object {
    const char *path;               /* as mapped by the program; "[vdso]": the vdso */
    const char *build_id;           /* lower-case hex; NULL: unknown */
    const char *architecture;       /* as objects.architecture; NULL: unknown */
    const char *const *other_paths; /* of copies; NULL-terminated; may be NULL */
    const struct kept_file *kept;   /* parts of the file in the log; NULL or without bytes: none */
};

#endif
