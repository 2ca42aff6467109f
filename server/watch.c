/* SPDX-License-Identifier: MIT */
#include "server/watch.h"

#include "queries/library/queries.h"
#include "support/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum {
    LOOK_NS = 50 * 1000 * 1000
};

struct watch {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    struct watched *first;
    int64_t limit_ns;
    bool is_ending;
};

static struct timespec now(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return at;
}

static int64_t to_ns(struct timespec at)
{
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

/* Again at each look: what is interrupted between two statements goes on with the next one. */
static void look(struct watch *watch)
{
    int64_t now_ns = to_ns(now());

    for (struct watched *watched = watch->first; watched; watched = watched->next) {
        bool is_late = now_ns >= watched->until_ns;

        watched->is_late = watched->is_late || is_late;
        if (is_late || watched->is_abandoned(watched->client))
            queries_interrupt(watched->question);
    }
}

static void *run(void *context)
{
    struct watch *watch = context;

    pthread_mutex_lock(&watch->mutex);
    while (!watch->is_ending) {
        struct timespec until = now();

        if (!watch->first) { /* nothing to look at */
            pthread_cond_wait(&watch->changed, &watch->mutex);
            continue;
        }
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&watch->changed, &watch->mutex, &until);
        look(watch);
    }
    pthread_mutex_unlock(&watch->mutex);
    return NULL;
}

int watch_start(int limit_ms, struct watch **ret, struct error *err)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    pthread_condattr_t attributes;
    int code;

    if (!watch)
        return error_set(err, ERROR_NOMEM, "no memory for a server");
    watch->limit_ns = (int64_t)limit_ms * 1000000;
    pthread_mutex_init(&watch->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    code = pthread_create(&watch->thread, NULL, run, watch);
    if (code != 0) {
        free(watch);
        return error_set_errno(err, code, "cannot start a thread");
    }
    *ret = watch;
    return 0;
}

static void change(struct watch *watch, struct watched *added, const struct watched *removed,
                   bool is_ending)
{
    struct watched **at = &watch->first;

    pthread_mutex_lock(&watch->mutex);
    while (*at && *at != removed)
        at = &(*at)->next;
    if (*at)
        *at = (*at)->next;
    if (added) {
        added->next = watch->first;
        watch->first = added;
    }
    watch->is_ending = is_ending;
    pthread_cond_signal(&watch->changed);
    pthread_mutex_unlock(&watch->mutex);
}

void watch_stop(struct watch *watch)
{
    if (!watch)
        return;
    change(watch, NULL, NULL, true);
    (void)pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}

void watch_begin(struct watch *watch, struct watched *watched)
{
    watched->until_ns = to_ns(now()) + watch->limit_ns;
    watched->is_late = false;
    change(watch, watched, NULL, false);
}

void watch_end(struct watch *watch, struct watched *watched)
{
    change(watch, NULL, watched, false);
}
