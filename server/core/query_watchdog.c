/* SPDX-License-Identifier: MIT */
#include "server/core/query_watchdog.h"

#include "lib/base/error.h"
#include "lib/base/timed_thread.h"
#include "server/http/exchange.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    LOOK_NS = 50 * 1000 * 1000
};

struct query_watchdog {
    struct timed_thread thread; /* checks the queries; its mutex guards the rest */
    struct watched *first;
    size_t n_watched, n_statements;
    pthread_cond_t turn;                    /* a query may have ended or been abandoned */
    size_t n_waiting, n_waiting_statements; /* of these */
};

static bool has_turn(const struct query_watchdog *watch, const struct watched *watched)
{
    return watch->n_watched < QUERY_WATCHDOG_QUERIES
           && (!watched->is_statement || watch->n_statements < QUERY_WATCHDOG_STATEMENTS);
}

static int64_t waited_ns(const struct watched *watched)
{
    return watched->waited_ns && !watched->is_abandoned(watched->client)
               ? watched->waited_ns(watched->client)
               : 0;
}

/* A slot is free for a waiting query, or about to be: a dropped query has not left yet. */
static bool has_room(const struct query_watchdog *watch, bool is_full)
{
    const size_t n_reports = watch->n_waiting - watch->n_waiting_statements;

    for (const struct watched *watched = watch->first; watched; watched = watched->next)
        if (watched->is_abandoned(watched->client) && (is_full || watched->is_statement))
            return true;
    return !is_full && (n_reports > 0 || watch->n_statements < QUERY_WATCHDOG_STATEMENTS);
}

/* WA-3. Drops one query per check: its slot is free soon, and may be enough. */
static void make_room(struct query_watchdog *watch)
{
    const bool is_full = watch->n_watched >= QUERY_WATCHDOG_QUERIES;
    const bool is_for_statement = watch->n_waiting == watch->n_waiting_statements
                                  && watch->n_statements >= QUERY_WATCHDOG_STATEMENTS;
    struct watched *slowest = NULL;
    int64_t longest_ns = QUERY_WATCHDOG_TIME_LIMIT_NS;

    if (has_room(watch, is_full))
        return;
    for (struct watched *watched = watch->first; watched; watched = watched->next) {
        if (is_for_statement && !watched->is_statement)
            continue;
        int64_t ns = waited_ns(watched);
        if (ns > longest_ns) {
            longest_ns = ns;
            slowest = watched;
        }
    }
    if (slowest)
        slowest->give_up(slowest->client);
}

/* Interrupts abandoned queries at each check: one that was interrupted between two statements runs
 * on with the next. */
static int64_t look(void *context)
{
    struct query_watchdog *watch = context;

    if (watch->n_waiting > 0)
        make_room(watch);
    for (struct watched *watched = watch->first; watched; watched = watched->next)
        if (watched->is_abandoned(watched->client))
            watched->interrupt(watched->request);
    if (watch->n_waiting > 0)
        pthread_cond_broadcast(&watch->turn);
    return watch->first || watch->n_waiting > 0 ? timed_thread_now() + LOOK_NS : 0;
}

int query_watchdog_start(struct query_watchdog **ret, struct error *err)
{
    struct query_watchdog *watch = calloc(1, sizeof(*watch));
    int r;

    if (!watch)
        return error_set(err, ERROR_NOMEM, "no memory for a server");
    pthread_cond_init(&watch->turn, NULL);
    r = timed_thread_start(&watch->thread, look, watch, err);
    if (r != 0) {
        pthread_cond_destroy(&watch->turn);
        free(watch);
        return r;
    }
    *ret = watch;
    return 0;
}

void query_watchdog_stop(struct query_watchdog *watch)
{
    if (!watch)
        return;
    timed_thread_stop(&watch->thread);
    pthread_cond_destroy(&watch->turn);
    free(watch);
}

struct watched query_watchdog_entry(const struct exchange *exchange,
                                    void (*interrupt)(void *request), void *request)
{
    return (struct watched){.interrupt = interrupt,
                            .request = request,
                            .is_abandoned = exchange->is_abandoned,
                            .waited_ns = exchange->waited_ns,
                            .give_up = exchange->give_up,
                            .client = exchange->client};
}

bool query_watchdog_begin(struct query_watchdog *watch, struct watched *watched)
{
    bool is_abandoned = false;

    pthread_mutex_lock(&watch->thread.mutex);
    watch->n_waiting++;
    watch->n_waiting_statements += watched->is_statement;
    pthread_cond_signal(&watch->thread.changed);
    while (!has_turn(watch, watched) && !(is_abandoned = watched->is_abandoned(watched->client)))
        pthread_cond_wait(&watch->turn, &watch->thread.mutex);
    watch->n_waiting--;
    watch->n_waiting_statements -= watched->is_statement;
    if (is_abandoned) {
        pthread_cond_broadcast(
            &watch->turn); /* the wakeup may have been meant for another waiter */
    } else {
        watch->n_watched++;
        watch->n_statements += watched->is_statement;
        watched->next = watch->first;
        watch->first = watched;
    }
    pthread_mutex_unlock(&watch->thread.mutex);
    return !is_abandoned;
}

void query_watchdog_end(struct query_watchdog *watch, struct watched *watched)
{
    struct watched **at = &watch->first;

    (void)malloc_trim(0); /* small pieces that glibc would keep */
    pthread_mutex_lock(&watch->thread.mutex);
    while (*at != watched)
        at = &(*at)->next;
    *at = watched->next;
    watch->n_watched--;
    watch->n_statements -= watched->is_statement;
    pthread_cond_broadcast(&watch->turn); /* not every waiter may take the slot */
    pthread_mutex_unlock(&watch->thread.mutex);
}
