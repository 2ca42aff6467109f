/* SPDX-License-Identifier: MIT */
/*
 * printable: texts that others wrote, for a terminal.
 *
 * Model: a program, or the other side of a connection, may have put anything into what it says: a line break begins a line in our name, and
 *        an escape sequence moves the cursor or renames the window.
 * Threads: any.
 */
#ifndef MTRACE_LIB_PRINTABLE_H
#define MTRACE_LIB_PRINTABLE_H

/* Puts '?' for what is no character, and for control characters (U+0000 to U+001F, U+007F to U+009F). */
void printable_clean(char *text);

#endif
