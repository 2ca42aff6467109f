/* SPDX-License-Identifier: MIT */
#include "symbolizer/die_strings.h"

#include <dwarf.h>

enum {
    LONGEST_CHAIN = 16 /* of origins and specifications; compilers need three */
};

static const char *read_string(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    const char *text = dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;

    return text && *text ? text : NULL;
}

bool die_strings_follow(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute)
        && !dwarf_attr(die, DW_AT_specification, &attribute))
        return false;
    return dwarf_formref_die(&attribute, die) != NULL;
}

const char *die_strings_name(Dwarf_Die *die, bool *ret_is_plain)
{
    const char *plain = NULL;

    *ret_is_plain = false;
    for (int i = 0; i < LONGEST_CHAIN; i++) {
        const char *linkage = read_string(die, DW_AT_linkage_name);
        if (!linkage)
            linkage = read_string(die, DW_AT_MIPS_linkage_name);
        if (linkage)
            return linkage;
        if (!plain)
            plain = read_string(die, DW_AT_name);
        if (!die_strings_follow(die))
            break;
    }
    *ret_is_plain = plain != NULL;
    return plain;
}
