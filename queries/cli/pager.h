/* SPDX-License-Identifier: MIT */
/*
 * pager: long output on a terminal is shown by a pager, with git's rules: $PAGER, or else less; no
 * pager if that is empty or "cat". less gets the options FRX unless $LESS has others: it shows
 * colours and ends when all fits one screen.
 *
 * When the pager ends early, the next write ends this program by SIGPIPE.
 */
#ifndef MTRACE_QUERIES_PAGER_H
#define MTRACE_QUERIES_PAGER_H

/* From here on stdout goes to the pager, and so does stderr if it is a terminal. Without a pager
 * nothing changes. */
void pager_start(void);

/* Waits until the user leaves the pager. */
void pager_finish(void);

#endif
