/* SPDX-License-Identifier: MIT */
/*
 * entry_names: the functions of known allocators, and the meaning of their arguments.
 *
 * A name is an allocator's prefix (_rjem_, je_, tc_, mi_, …, or none) and a word. The shape
 * describes the call. Its first letter is one of
 *
 *     +  returns a new block           =  returns a block in place of an old one
 *     -  frees a block                 @  stores a new block where an argument points to
 *     x  resizes a block in place      u  returns the usable size of a block
 *     ?  does something else with blocks, and is not followed
 *
 * The next letters are the arguments in order: s size, n number of elements, a alignment, f
 * jemalloc's flags, p the block, r where the new one is stored, - something else. Those after the
 * last relevant one may be omitted if there are at most ENTRY_NAMES_MAX_ARGUMENTS. "+" alone: the
 * size is the usable size of the block.
 */
#ifndef MTRACE_RECORDER_ENTRY_NAMES_H
#define MTRACE_RECORDER_ENTRY_NAMES_H

#include "lib/abi/log_format.h"

#include <stdbool.h>

enum {
    ENTRY_NAMES_MAX_ARGUMENTS = 5, /* that the collector forwards: INSIDE_ARGUMENTS */
};

struct entry_name {
    const char *allocator; /* "jemalloc" */
    const char *prefix;    /* names with one prefix belong to one allocator */
    const char *shape;
    enum log_call call;
    bool is_telling; /* such a function shows that the allocator is probably inside the program */
};

/* False: not a known name. own_prefix: another prefix of jemalloc, or NULL. */
bool entry_names_find(const char *name, const char *own_prefix, struct entry_name *ret_name);

/* The length of the prefix before mallocx, which only jemalloc has: 0 for "mallocx", 4 for
 * "any_mallocx", -1 for other names. */
int entry_names_jemalloc_prefix(const char *name);

#endif
