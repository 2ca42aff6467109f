/* SPDX-License-Identifier: MIT */
/*
 * sent_summary: the final message of a sender: what was sent, and what was not.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_SENT_SUMMARY_H
#define MTRACE_REMOTE_SENT_SUMMARY_H

struct sender;

/* Prints it on stderr. With --no-local, removes files of completely sent logs before. */
void sent_summary_print(const struct sender *sender);

#endif
