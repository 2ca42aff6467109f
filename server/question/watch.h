/* SPDX-License-Identifier: MIT */
/*
 * watch: ends questions that nobody waits for any more. Those that take too long end by their own
 *        time_limit.
 *
 * Model:   one thread looks every 50 ms at all questions that are being answered. Up to WATCH_QUESTIONS are answered at
 *          once; the others wait for their turn, because each takes memory (budget.h) and one processor.
 * Invariants
 *   WA-1 a question is interrupted only between watch_begin and watch_end.
 * Threads: any number of threads may begin and end; a question ends in the thread that began it.
 */
#ifndef MTRACE_SERVER_WATCH_H
#define MTRACE_SERVER_WATCH_H

#include <stdbool.h>

struct error;
struct watch;

enum {
    WATCH_QUESTIONS = 8
};

/* Of the caller, between begin and end. */
struct watched {
    void (*interrupt)(void *question);
    void *question;
    bool (*is_abandoned)(const void *client);
    const void *client;
    struct watched *next;
};

int watch_start(struct watch **ret, struct error *err);

/* No question may be left. NULL is fine. */
void watch_stop(struct watch *watch);

/* Waits for a turn. false: it was abandoned in the meantime, and there is no turn to end. */
bool watch_begin(struct watch *watch, struct watched *watched);
void watch_end(struct watch *watch, struct watched *watched);

#endif
