/* SPDX-License-Identifier: MIT */
/*
 * budget: how much memory SQLite may take for one question.
 *
 * Model:   a few lines of SQL can name a table expression twice in the next one, and so on: SQLite copies them before
 *          its first step, where neither time limit nor interruption reaches it. Here its allocator counts what a
 *          thread takes between budget_begin and budget_end, and has no more above BUDGET_BYTES: the question
 *          fails with ERROR_NOMEM, and nothing else does.
 * Threads: each has its own count; a question belongs to one.
 */
#ifndef MTRACE_SERVER_BUDGET_H
#define MTRACE_SERVER_BUDGET_H

enum {
    BUDGET_BYTES = 256 * 1024 * 1024
};

/* Once, before SQLite is used. */
void budget_install(void);

void budget_begin(void);
void budget_end(void);

#endif
