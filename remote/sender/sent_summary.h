/* SPDX-License-Identifier: MIT */
/*
 * sent_summary: the last words of a sender: what was sent, and what was not.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_SENT_SUMMARY_H
#define MTRACE_REMOTE_SENT_SUMMARY_H

struct sender;

/* On stderr. With --no-local, files of logs that were wholly sent are removed before. */
void sent_summary_print(const struct sender *sender);

#endif
