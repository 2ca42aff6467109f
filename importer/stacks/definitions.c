/* SPDX-License-Identifier: MIT */
#include "importer/stacks/definitions.h"

const char *definitions_status_name(enum definitions_status status)
{
    static const char *const names[] = {"complete", "truncated", "guessed"};
    return names[status];
}
