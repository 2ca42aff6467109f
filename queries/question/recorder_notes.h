/* SPDX-License-Identifier: MIT */
/*
 * recorder_notes: a word about questions that a recording made by another tool cannot answer.
 *
 * Model: what heaptrack never recorded stays NULL or has no rows. That is no finding about the
 *        program, so one remark says it.
 */
#ifndef MTRACE_QUERIES_RECORDER_NOTES_H
#define MTRACE_QUERIES_RECORDER_NOTES_H

struct error;
struct query;

/* Makes at most one remark for the command of the options; none for recordings of our own. */
int recorder_notes_print(const struct query *query, struct error *err);

#endif
