/* SPDX-License-Identifier: MIT */
/*
 * entry_names: the functions of known allocators, and what their arguments mean.
 *
 * Model:   a name is a prefix of an allocator (_rjem_, je_, tc_, mi_, …, or none) and a word after it.
 *          The shape says what a call does: its first letter is one of
 *            +  returns a new block           =  returns a block in place of an old one
 *            -  gives a block back            @  stores a new block where an argument points to
 *            x  resizes a block where it is   u  says how many bytes a block can hold
 *            ?  does something else with blocks, and is not followed
 *          and the letters behind it are the arguments in order (those behind the last one that matters
 *          may be left out where there are no more than ENTRY_NAMES_MOST_ARGUMENTS):
 *            s size, n times as much, a alignment, f jemalloc's flags, p the block, r where the new one
 *            is stored, - something else.
 *          "+" alone: the size is what the allocator says that the block holds.
 */
#ifndef MTRACE_RECORDER_ENTRY_NAMES_H
#define MTRACE_RECORDER_ENTRY_NAMES_H

#include "lib/abi/log_format.h"

#include <stdbool.h>

enum {
    ENTRY_NAMES_MOST_ARGUMENTS = 5, /* that the collector hands on: INSIDE_ARGUMENTS */
};

struct entry_name {
    const char *allocator; /* "jemalloc" */
    const char *prefix;    /* names with the same are of one allocator */
    const char *shape;
    enum log_call call;
    bool is_telling; /* a program with this function has the allocator inside, most likely */
};

/* False: it is nobody's. own_prefix: one more of jemalloc's, or NULL. */
bool entry_names_find(const char *name, const char *own_prefix, struct entry_name *ret_name);

/* The length of the prefix before jemalloc's mallocx, which nobody else has: 0 for "mallocx", 4 for
 * "any_mallocx", -1 for other names. */
int entry_names_jemalloc_prefix(const char *name);

#endif
