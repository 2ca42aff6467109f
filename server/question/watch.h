/* SPDX-License-Identifier: MIT */
/*
 * watch: ends questions that nobody waits for any more. Those that take too long end by their own
 *        time_limit.
 *
 * Model:   one thread looks every 50 ms at all questions that are being answered.
 * Invariants
 *   WA-1 a question is interrupted only between watch_begin and watch_end.
 * Threads: any number of threads may begin and end.
 */
#ifndef MTRACE_SERVER_WATCH_H
#define MTRACE_SERVER_WATCH_H

#include <stdbool.h>

struct error;
struct watch;

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

void watch_begin(struct watch *watch, struct watched *watched);
void watch_end(struct watch *watch, struct watched *watched);

#endif
