/* SPDX-License-Identifier: MIT */
/*
 * printable: makes untrusted text safe for a terminal.
 *
 * A program, or the other end of a connection, may send any bytes: a line break would begin a line
 * in our name, and an escape sequence could move the cursor or rename the window. Any thread.
 */
#ifndef MTRACE_LIB_PRINTABLE_H
#define MTRACE_LIB_PRINTABLE_H

/* Replaces invalid characters and control characters (U+0000 to U+001F, U+007F to U+009F) by
 * '?'. */
void printable_clean(char *text);

#endif
