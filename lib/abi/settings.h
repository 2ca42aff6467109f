/* SPDX-License-Identifier: MIT */
/*
 * settings: the variable MTRACE_RECORDER, in which mtrace-record passes settings to the collector.
 *
 * It has NAME=value assignments, each ended by SETTINGS_SEPARATOR. A newline would not do: scripts,
 * and programs under --follow-children, read `env` line by line and take each line for a variable.
 * mtrace-record itself keeps one assignment per line, so no value may contain either character;
 * file names with one are refused.
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
