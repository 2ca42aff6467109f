/* SPDX-License-Identifier: MIT */
/* die_strings: what debug info calls a DIE, wherever it says so. */
#ifndef MTRACE_SYMBOLIZER_DIE_STRINGS_H
#define MTRACE_SYMBOLIZER_DIE_STRINGS_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* Goes from a DIE to its origin or specification; false: it has none. */
bool die_strings_follow(Dwarf_Die *die);

/* The linkage name, else the plain one (ret_is_plain); NULL: neither. Leaves the DIE at the last
 * one that was looked at: for a plain name that is the declaration. */
const char *die_strings_name(Dwarf_Die *die, bool *ret_is_plain);

#endif
