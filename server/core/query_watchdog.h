/* SPDX-License-Identifier: MIT */
/*
 * watch: ends questions that nobody waits for any more. Those that take too long end by their own
 *        time_limit.
 *
 * Model:   one thread looks every 50 ms at all questions that are being answered. Up to QUERY_WATCHDOG_QUESTIONS are answered at
 *          once; the others wait for their turn, because each takes memory (lib/sqlite/sql_budget.h) and one processor. Statements that
 *          a client wrote have less than half of the turns. While somebody waits, the question that has waited longest for its client to
 *          take what was written gives its turn up, when that is more than QUERY_WATCHDOG_TIME_LIMIT_NS in all.
 * Invariants
 *   WA-1 a question is interrupted only between query_watchdog_begin and query_watchdog_end.
 *   WA-2 however many statements are asked, and however slowly clients read, a report gets a turn.
 *   WA-3 nobody gives up a turn that no one who waits may take.
 * Threads: any number of threads may begin and end; a question ends in the thread that began it.
 */
#ifndef MTRACE_SERVER_QUERY_WATCHDOG_H
#define MTRACE_SERVER_QUERY_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct query_watchdog;

enum {
    QUERY_WATCHDOG_QUESTIONS = 8,
    QUERY_WATCHDOG_STATEMENTS = 3 /* of these */
};

#define QUERY_WATCHDOG_TIME_LIMIT_NS INT64_C(2000000000)

/* Of the caller, between begin and end. */
struct watched {
    void (*interrupt)(void *question);
    void *question;
    bool is_statement; /* of the client's own */
    bool (*is_abandoned)(const void *client);
    int64_t (*waited_ns)(const void *client); /* for the client, in all; NULL: never */
    void (*give_up)(const void *client);      /* from then on it is abandoned */
    const void *client;
    struct watched *next;
};

int query_watchdog_start(struct query_watchdog **ret, struct error *err);

/* No question may be left. NULL is fine. */
void query_watchdog_stop(struct query_watchdog *watch);

/* Waits for a turn. false: it was abandoned in the meantime, and there is no turn to end. */
bool query_watchdog_begin(struct query_watchdog *watch, struct watched *watched);
void query_watchdog_end(struct query_watchdog *watch, struct watched *watched);

#endif
