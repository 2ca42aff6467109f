/* SPDX-License-Identifier: MIT */
/*
 * collector_library: which library is preloaded into a program, and where mtrace's files are.
 *
 * The collector of this machine is in ../lib/mtrace beside this program's folder, or where it was
 * installed. Collectors of other processors are in ../lib/TRIPLET/mtrace, with Debian's triplets. A
 * program gets the one of its own kind or none: its loader would print an error for any other.
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

/* The library's path, owned by the caller, or $MTRACE_LIBRARY. NULL: there is none for this kind.
 * kind NULL: unknown. has_operators: the program has its own C++ operators (allocator.h) and needs
 * libmtrace-new.so. */
int collector_library_find(const struct collector_library_kind *kind, bool has_operators,
                           char **ret_path, struct error *err);

/* Writes why a program of this foreign kind cannot be recorded into `text`; NULL if it can. */
const char *collector_library_explain(const struct collector_library_kind *kind, char *text,
                                      size_t text_bytes);

/* Folder of this program + suffix, which may not exist; NULL: unknown. */
char *collector_library_beside(const char *suffix);

#endif
