/* SPDX-License-Identifier: MIT */
/*
 * settings: what is in the variable MTRACE_RECORDER, by which mtrace-record tells the collector what it wants.
 *
 * Model:   NAME=value assignments, each ended by SETTINGS_SEPARATOR. Not by a newline: programs that --follow-children follows, and
 *          scripts, read `env` line by line, and take each line for a variable.
 */
#ifndef MTRACE_SETTINGS_H
#define MTRACE_SETTINGS_H

#define SETTINGS_SEPARATOR '\x1f' /* ASCII's unit separator, which names of files do not have */

#endif
