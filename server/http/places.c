/* SPDX-License-Identifier: MIT */
#include "server/http/places.h"

#include "support/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct place {
    struct places *places;
    struct place *previous, *next;
    int socket;
    bool is_cut_off;
    int64_t since_ns, until_ns; /* waited for; until_ns 0: worked for */
};

struct places {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    struct place *first;
    size_t n_taken, n_places; /* those that were cut off are not counted */
    bool is_ending;
};

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- with the mutex held ---- */

/* The connection's own thread sees the end of it, and leaves. */
static void cut_off(struct places *places, struct place *place)
{
    (void)shutdown(place->socket, SHUT_RDWR);
    place->is_cut_off = true;
    places->n_taken--;
}

/* The next deadline; 0: there is none. */
static int64_t cut_off_late(struct places *places)
{
    int64_t now = now_ns();
    int64_t next = 0;

    for (struct place *place = places->first; place; place = place->next) {
        if (place->is_cut_off || place->until_ns == 0)
            continue;
        if (place->until_ns <= now)
            cut_off(places, place);
        else if (next == 0 || place->until_ns < next)
            next = place->until_ns;
    }
    return next;
}

static void make_room(struct places *places)
{
    struct place *longest = NULL;

    for (struct place *place = places->first; place; place = place->next)
        if (!place->is_cut_off && place->until_ns > 0
            && (!longest || place->since_ns < longest->since_ns))
            longest = place;
    if (longest)
        cut_off(places, longest);
}

/* ---- the thread ---- */

static void *run(void *context)
{
    struct places *places = context;

    pthread_mutex_lock(&places->mutex);
    while (!places->is_ending) {
        int64_t next = cut_off_late(places);
        const struct timespec until = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};

        if (next == 0)
            pthread_cond_wait(&places->changed, &places->mutex);
        else
            (void)pthread_cond_timedwait(&places->changed, &places->mutex, &until);
    }
    pthread_mutex_unlock(&places->mutex);
    return NULL;
}

int places_start(size_t n_places, struct places **ret, struct error *err)
{
    struct places *places = calloc(1, sizeof(*places));
    pthread_condattr_t attributes;
    int code;

    if (!places)
        return error_set(err, ERROR_NOMEM, "no memory for a server");
    places->n_places = n_places;
    pthread_mutex_init(&places->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&places->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    code = pthread_create(&places->thread, NULL, run, places);
    if (code != 0) {
        free(places);
        return error_set_errno(err, code, "cannot start a thread");
    }
    *ret = places;
    return 0;
}

void places_stop(struct places *places)
{
    if (!places)
        return;
    pthread_mutex_lock(&places->mutex);
    places->is_ending = true;
    pthread_cond_signal(&places->changed);
    pthread_mutex_unlock(&places->mutex);
    (void)pthread_join(places->thread, NULL);
    pthread_cond_destroy(&places->changed);
    pthread_mutex_destroy(&places->mutex);
    free(places);
}

/* ---- connections ---- */

static void wait_for(struct place *place, int seconds)
{
    place->since_ns = now_ns();
    place->until_ns = place->since_ns + (int64_t)seconds * 1000000000;
    pthread_cond_signal(&place->places->changed);
}

struct place *places_take(struct places *places, int socket, int seconds)
{
    struct place *place = calloc(1, sizeof(*place));

    if (!place)
        return NULL;
    place->places = places;
    place->socket = socket;
    pthread_mutex_lock(&places->mutex);
    if (places->n_taken >= places->n_places)
        make_room(places);
    place->next = places->first;
    if (place->next)
        place->next->previous = place;
    places->first = place;
    places->n_taken++;
    wait_for(place, seconds);
    pthread_mutex_unlock(&places->mutex);
    return place;
}

void places_leave(struct place *place)
{
    struct places *places = place ? place->places : NULL;

    if (!place)
        return;
    pthread_mutex_lock(&places->mutex);
    places->n_taken -= !place->is_cut_off;
    if (place->previous)
        place->previous->next = place->next;
    else
        places->first = place->next;
    if (place->next)
        place->next->previous = place->previous;
    pthread_mutex_unlock(&places->mutex);
    free(place);
}

void places_wait_for(struct place *place, int seconds)
{
    if (!place)
        return;
    pthread_mutex_lock(&place->places->mutex);
    wait_for(place, seconds);
    pthread_mutex_unlock(&place->places->mutex);
}

void places_work_for(struct place *place)
{
    if (!place)
        return;
    pthread_mutex_lock(&place->places->mutex);
    place->until_ns = 0;
    pthread_mutex_unlock(&place->places->mutex);
}
