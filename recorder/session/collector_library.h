/* SPDX-License-Identifier: MIT */
/*
 * collector_library: which library is preloaded into a program, and where our files are.
 *
 * Model:   the collector of this machine lies in ../lib/mtrace beside the folder of this program, or
 *          where it was installed when it was compiled; those of other processors beside it, in
 *          ../lib/TRIPLET/mtrace as Debian calls them. A program gets the one of its own kind, or
 *          none: its loader complains about any other, on the program's standard error.
 */
#ifndef MTRACE_RECORDER_COLLECTOR_LIBRARY_H
#define MTRACE_RECORDER_COLLECTOR_LIBRARY_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector_library_kind {
    uint16_t machine; /* e_machine */
    uint8_t word_bytes;
};

bool collector_library_is_own(const struct collector_library_kind *kind);

/* Its path, owned by the caller; or $MTRACE_LIBRARY. NULL: there is none for this kind. kind NULL: not known. has_operators: the program
 * brings operators of C++ (allocator.h), so that libmtrace-new.so is wanted. */
int collector_library_find(const struct collector_library_kind *kind, bool has_operators,
                           char **ret_path, struct error *err);

/* Why a program of another kind than this one's cannot be recorded, into `text`; NULL: it can. */
const char *collector_library_explain(const struct collector_library_kind *kind, char *text,
                                      size_t text_bytes);

/* Folder of this program + suffix, whether it exists or not; NULL: not known. */
char *collector_library_beside(const char *suffix);

#endif
