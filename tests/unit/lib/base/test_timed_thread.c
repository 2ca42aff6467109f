/* SPDX-License-Identifier: MIT */
/* Callbacks run at signals and deadlines, and at no other time. */
#include "lib/base/timed_thread.h"
#include "tests/lib/unit.h"

enum {
    TIMED_LOOKS = 3,
    MS = 1000000
};

struct looks {
    struct timed_thread thread;
    pthread_cond_t looked;
    int n;
};

/* Returns a deadline until it ran TIMED_LOOKS times; then it waits for signals. */
static int64_t look(void *context)
{
    struct looks *looks = context;

    looks->n++;
    pthread_cond_signal(&looks->looked);
    return looks->n < TIMED_LOOKS ? timed_thread_now() + MS : 0;
}

static void wait_for_looks(struct looks *looks, int n)
{
    while (looks->n < n)
        pthread_cond_wait(&looks->looked, &looks->thread.mutex);
}

/* TT-1, TT-2 */
TEST(callbacks_follow_signals_and_deadlines)
{
    struct looks looks = {0};
    int64_t until;

    timed_thread_condition(&looks.looked);
    assert_int_equal(timed_thread_start(&looks.thread, look, &looks, NULL), 0);
    pthread_mutex_lock(&looks.thread.mutex);
    wait_for_looks(&looks, TIMED_LOOKS);
    until = timed_thread_now() + 20 * MS;
    while (timed_thread_wait(&looks.looked, &looks.thread.mutex, until))
        ;
    assert_true(timed_thread_now() >= until);
    assert_int_equal(looks.n, TIMED_LOOKS); /* no deadline was given, nothing changed */
    pthread_cond_signal(&looks.thread.changed);
    wait_for_looks(&looks, TIMED_LOOKS + 1);
    pthread_mutex_unlock(&looks.thread.mutex);
    timed_thread_stop(&looks.thread); /* it waits for a signal that never comes */
    pthread_cond_destroy(&looks.looked);
}
