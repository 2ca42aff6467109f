/* SPDX-License-Identifier: MIT */
/* symbols_options: how functions and lines are looked up. */
#ifndef MTRACE_IMPORTER_SYMBOLS_OPTIONS_H
#define MTRACE_IMPORTER_SYMBOLS_OPTIONS_H

#include "lib/base/progress.h"
#include "symbolizer/symbolizer_options.h"

struct symbols_options {
    struct symbolizer_options symbolizer;
    unsigned n_threads;        /* at most; 0: as many as there are processors */
    const char *cache_dir;     /* results of earlier imports, by build-id; NULL: no cache */
    struct progress *progress; /* polled a few times a second; NULL: none */
};

#endif
