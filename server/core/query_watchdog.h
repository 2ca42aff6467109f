/* SPDX-License-Identifier: MIT */
/*
 * query_watchdog: limits concurrent queries and stops queries whose client has gone. Slow queries
 * end by their own time_limit.
 *
 * One thread checks all running queries every 50 ms. At most QUERY_WATCHDOG_QUERIES run at a
 * time; the others wait for a slot, because each needs memory and a
 * processor. SQL statements of clients have less than half of the slots. While a query waits, the
 * running query that has waited longest for its client to read is dropped, if that wait exceeds
 * QUERY_WATCHDOG_TIME_LIMIT_NS in total.
 *
 * Invariants
 *   WA-1 A query is interrupted only between query_watchdog_begin and query_watchdog_end.
 *   WA-2 A report gets a slot, however many statements run and however slowly clients read.
 *   WA-3 A query is dropped only for a slot that a waiting query may take.
 *
 * Threads: any number of threads may begin and end; a query ends in the thread that began it.
 */
#ifndef MTRACE_SERVER_QUERY_WATCHDOG_H
#define MTRACE_SERVER_QUERY_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct exchange;
struct query_watchdog;

enum {
    QUERY_WATCHDOG_QUERIES = 8,
    QUERY_WATCHDOG_STATEMENTS = 3 /* of QUERY_WATCHDOG_QUERIES */
};

#define QUERY_WATCHDOG_TIME_LIMIT_NS INT64_C(2000000000)

/* Owned by the caller between begin and end. */
struct watched {
    void (*interrupt)(void *request);
    void *request;
    bool is_statement; /* SQL written by the client */
    bool (*is_abandoned)(const void *client);
    int64_t (*waited_ns)(
        const void *client); /* total time that writes waited for the client; NULL: none */
    void (*give_up)(const void *client); /* makes is_abandoned true */
    const void *client;
    struct watched *next;
};

int query_watchdog_start(struct query_watchdog **ret, struct error *err);

/* No query may be running. NULL is fine. */
void query_watchdog_stop(struct query_watchdog *watch);

/* The entry for a query that makes this answer. */
struct watched query_watchdog_entry(const struct exchange *exchange,
                                    void (*interrupt)(void *request), void *request);

/* Waits for a slot. False: the query was abandoned; do not call query_watchdog_end. */
bool query_watchdog_begin(struct query_watchdog *watch, struct watched *watched);
void query_watchdog_end(struct query_watchdog *watch, struct watched *watched);

#endif
