/* SPDX-License-Identifier: MIT */
/* Which request gets a slot when all are taken. */
#include "server/core/query_watchdog.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static bool is_flag_set(const void *client)
{
    return *(const bool *)client;
}

static void do_nothing(void *request)
{
    (void)request;
}

/* No client waits for its answer: it is not run, and takes no slot. */
TEST(test_the_abandoned_get_no_turn)
{
    static const bool stays = false;
    static const bool is_gone = true;
    struct watched taken[QUERY_WATCHDOG_QUERIES];
    struct watched late = {
        .interrupt = do_nothing, .is_abandoned = is_flag_set, .client = &is_gone};
    struct query_watchdog *watch;

    assert_int_equal(query_watchdog_start(&watch, NULL), 0);
    for (int i = 0; i < QUERY_WATCHDOG_QUERIES; i++) {
        taken[i] = (struct watched){
            .interrupt = do_nothing, .is_abandoned = is_flag_set, .client = &stays};
        assert_true(query_watchdog_begin(watch, &taken[i]));
    }
    assert_false(query_watchdog_begin(watch, &late));
    query_watchdog_end(watch, &taken[0]);
    assert_true(query_watchdog_begin(watch, &taken[0]));
    for (int i = 0; i < QUERY_WATCHDOG_QUERIES; i++)
        query_watchdog_end(watch, &taken[i]);
    query_watchdog_stop(watch);
}

/* SQL of clients leaves slots for reports. */
TEST(test_statements_leave_turns)
{
    static const bool stays = false;
    static const bool is_gone = true;
    struct watched taken[QUERY_WATCHDOG_QUERIES];
    struct watched late = {.interrupt = do_nothing,
                           .is_statement = true,
                           .is_abandoned = is_flag_set,
                           .client = &is_gone};
    struct query_watchdog *watch;

    assert_int_equal(query_watchdog_start(&watch, NULL), 0);
    for (int i = 0; i < QUERY_WATCHDOG_QUERIES; i++) {
        taken[i] = (struct watched){.interrupt = do_nothing,
                                    .is_statement = i < QUERY_WATCHDOG_STATEMENTS,
                                    .is_abandoned = is_flag_set,
                                    .client = &stays};
        if (i == QUERY_WATCHDOG_STATEMENTS)
            assert_false(query_watchdog_begin(watch, &late));
        assert_true(query_watchdog_begin(watch, &taken[i]));
    }
    for (int i = 0; i < QUERY_WATCHDOG_QUERIES; i++)
        query_watchdog_end(watch, &taken[i]);
    late.client = &stays;
    assert_true(query_watchdog_begin(watch, &late));
    query_watchdog_end(watch, &late);
    query_watchdog_stop(watch);
}

/* A request whose client takes nothing. */
struct slow {
    struct query_watchdog *watch;
    struct watched watched;
    int64_t waited_ns;
    atomic_bool is_given_up;
};

static bool is_given_up(const void *client)
{
    return ((const struct slow *)client)->is_given_up;
}

static int64_t slow_waited_ns(const void *client)
{
    return ((const struct slow *)client)->waited_ns;
}

static void give_up(const void *client)
{
    ((struct slow *)(uintptr_t)client)->is_given_up = true;
}

/* Fails as its writer does when nothing more can be written. */
static void *end_when_given_up(void *context)
{
    struct slow *slow = context;

    while (!slow->is_given_up)
        (void)usleep(1000);
    query_watchdog_end(slow->watch, &slow->watched);
    return NULL;
}

/* A waiting request gets the slot of the slowest client, and of no other. */
TEST(test_the_slowest_makes_room)
{
    static const bool stays = false;
    struct slow slow[QUERY_WATCHDOG_QUERIES];
    struct watched report = {
        .interrupt = do_nothing, .is_abandoned = is_flag_set, .client = &stays};
    struct query_watchdog *watch;
    pthread_t thread;

    assert_int_equal(query_watchdog_start(&watch, NULL), 0);
    for (int i = 0; i < QUERY_WATCHDOG_QUERIES; i++) {
        slow[i] = (struct slow){.watch = watch,
                                .waited_ns = i == 5 ? 2 * QUERY_WATCHDOG_TIME_LIMIT_NS : i};
        slow[i].watched = (struct watched){.interrupt = do_nothing,
                                           .is_abandoned = is_given_up,
                                           .waited_ns = slow_waited_ns,
                                           .give_up = give_up,
                                           .client = &slow[i]};
        assert_true(query_watchdog_begin(watch, &slow[i].watched));
    }
    assert_int_equal(pthread_create(&thread, NULL, end_when_given_up, &slow[5]), 0);
    assert_true(query_watchdog_begin(watch, &report));
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < QUERY_WATCHDOG_QUERIES; i++) {
        assert_int_equal(slow[i].is_given_up, i == 5);
        if (i != 5)
            query_watchdog_end(watch, &slow[i].watched);
    }
    query_watchdog_end(watch, &report);
    query_watchdog_stop(watch);
}

static void *wait_for_slot(void *context)
{
    struct slow *late = context;

    if (query_watchdog_begin(late->watch, &late->watched))
        query_watchdog_end(late->watch, &late->watched);
    return NULL;
}

/* SQL that waits because other SQL runs cannot use the slot of a report. */
TEST(test_a_statement_takes_no_turn_of_a_report)
{
    enum {
        N_TAKEN = 2 * QUERY_WATCHDOG_STATEMENTS
    };
    struct slow taken[N_TAKEN];
    struct slow late;
    struct query_watchdog *watch;
    pthread_t ender, waiter;

    assert_int_equal(query_watchdog_start(&watch, NULL), 0);
    for (int i = 0; i < N_TAKEN; i++) {
        bool is_statement = i < QUERY_WATCHDOG_STATEMENTS;
        taken[i] = (struct slow){.watch = watch,
                                 .waited_ns = is_statement ? 2 * QUERY_WATCHDOG_TIME_LIMIT_NS + i
                                                           : 3 * QUERY_WATCHDOG_TIME_LIMIT_NS + i};
        taken[i].watched = (struct watched){.interrupt = do_nothing,
                                            .is_statement = is_statement,
                                            .is_abandoned = is_given_up,
                                            .waited_ns = slow_waited_ns,
                                            .give_up = give_up,
                                            .client = &taken[i]};
        assert_true(query_watchdog_begin(watch, &taken[i].watched));
    }
    late = (struct slow){.watch = watch};
    late.watched = (struct watched){.interrupt = do_nothing,
                                    .is_statement = true,
                                    .is_abandoned = is_given_up,
                                    .client = &late};
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_slot, &late), 0);
    assert_int_equal(
        pthread_create(&ender, NULL, end_when_given_up, &taken[QUERY_WATCHDOG_STATEMENTS - 1]), 0);
    assert_int_equal(pthread_join(waiter, NULL), 0);
    assert_int_equal(pthread_join(ender, NULL), 0);
    for (int i = 0; i < N_TAKEN; i++) {
        assert_int_equal(taken[i].is_given_up, i == QUERY_WATCHDOG_STATEMENTS - 1);
        if (i != QUERY_WATCHDOG_STATEMENTS - 1)
            query_watchdog_end(watch, &taken[i].watched);
    }
    query_watchdog_stop(watch);
}
