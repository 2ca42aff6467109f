/* SPDX-License-Identifier: MIT */
#include "server/question/watch.h"

#include "server/question/budget.h"
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
    size_t n_watched;
    pthread_cond_t turn; /* one of them may have ended, or been abandoned */
    size_t n_waiting;
    bool is_ending;
};

static struct timespec now(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return at;
}

/* Again at each look: what is interrupted between two statements goes on with the next one. */
static void look(struct watch *watch)
{
    for (struct watched *watched = watch->first; watched; watched = watched->next)
        if (watched->is_abandoned(watched->client))
            watched->interrupt(watched->question);
}

static void *run(void *context)
{
    struct watch *watch = context;

    pthread_mutex_lock(&watch->mutex);
    while (!watch->is_ending) {
        struct timespec until = now();

        if (!watch->first && watch->n_waiting == 0) { /* nothing to look at */
            pthread_cond_wait(&watch->changed, &watch->mutex);
            continue;
        }
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&watch->changed, &watch->mutex, &until);
        look(watch);
        if (watch->n_waiting > 0)
            pthread_cond_broadcast(&watch->turn);
    }
    pthread_mutex_unlock(&watch->mutex);
    return NULL;
}

int watch_start(struct watch **ret, struct error *err)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    pthread_condattr_t attributes;
    int code;

    if (!watch)
        return error_set(err, ERROR_NOMEM, "no memory for a server");
    pthread_mutex_init(&watch->mutex, NULL);
    pthread_cond_init(&watch->turn, NULL);
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

void watch_stop(struct watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->mutex);
    watch->is_ending = true;
    pthread_cond_signal(&watch->changed);
    pthread_mutex_unlock(&watch->mutex);
    (void)pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->changed);
    pthread_cond_destroy(&watch->turn);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}

bool watch_begin(struct watch *watch, struct watched *watched)
{
    bool is_abandoned = false;

    pthread_mutex_lock(&watch->mutex);
    watch->n_waiting++;
    pthread_cond_signal(&watch->changed);
    while (watch->n_watched >= WATCH_QUESTIONS
           && !(is_abandoned = watched->is_abandoned(watched->client)))
        pthread_cond_wait(&watch->turn, &watch->mutex);
    watch->n_waiting--;
    if (is_abandoned) {
        pthread_cond_signal(
            &watch->turn); /* the one that woke us may have been meant for another */
    } else {
        watch->n_watched++;
        watched->next = watch->first;
        watch->first = watched;
    }
    pthread_mutex_unlock(&watch->mutex);
    if (!is_abandoned)
        budget_begin();
    return !is_abandoned;
}

void watch_end(struct watch *watch, struct watched *watched)
{
    struct watched **at = &watch->first;

    budget_end();
    pthread_mutex_lock(&watch->mutex);
    while (*at != watched)
        at = &(*at)->next;
    *at = watched->next;
    watch->n_watched--;
    pthread_cond_signal(&watch->turn);
    pthread_mutex_unlock(&watch->mutex);
}
