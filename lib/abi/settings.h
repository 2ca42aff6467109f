/* SPDX-License-Identifier: MIT */
/*
 * settings: what is in the variable MTRACE_RECORDER, by which mtrace-record tells the collector what it wants.
 *
 * Model:   NAME=value assignments, each ended by SETTINGS_SEPARATOR. Not by a newline: programs that --follow-children follows, and
 *          scripts, read `env` line by line, and take each line for a variable. Until then mtrace-record keeps each on a line of its own, so no
 *          value has either: names of files may, and are refused.
 */
#ifndef MTRACE_LIB_SETTINGS_H
#define MTRACE_LIB_SETTINGS_H

#include <stdbool.h>

#define SETTINGS_SEPARATOR '\x1f' /* ASCII's unit separator */

static inline bool settings_can_hold(const char *value)
{
    for (; *value; value++)
        if (*value == '\n' || *value == SETTINGS_SEPARATOR)
            return false;
    return true;
}

#endif
