/* SPDX-License-Identifier: MIT */
/* die_strings: finds the name of a DIE, also in its origin or specification. */
#ifndef MTRACE_SYMBOLIZER_DIE_STRINGS_H
#define MTRACE_SYMBOLIZER_DIE_STRINGS_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* Goes from a DIE to its origin or specification; false: it has none. */
bool die_strings_follow(Dwarf_Die *die);

/* Returns the linkage name, else the plain one (ret_is_plain), else NULL. Moves the DIE to the last
 * one that was examined: for a plain name that is the declaration. */
const char *die_strings_name(Dwarf_Die *die, bool *ret_is_plain);

#endif
