/* SPDX-License-Identifier: MIT */
#include "server/http/connection_slots.h"

#include "lib/base/error.h"
#include "lib/base/timed_thread.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

struct place {
    struct connection_slots *places;
    struct place *previous, *next;
    int socket;
    bool is_cut_off;
    int64_t since_ns,
        until_ns; /* the current wait; until_ns 0: the connection is being worked on */
};

struct connection_slots {
    struct timed_thread thread; /* shuts down late connections; its mutex guards the rest */
    struct place *first;
    size_t n_taken, n_places; /* not counting connections that were shut down */
};

/* ---- with the mutex held ---- */

/* The thread of the connection notices the shutdown and leaves. */
static void cut_off(struct place *place)
{
    (void)shutdown(place->socket, SHUT_RDWR);
    place->is_cut_off = true;
    place->places->n_taken--;
}

/* The next deadline; 0: there is none. */
static int64_t cut_off_late(void *context)
{
    const struct connection_slots *places = context;
    int64_t now = timed_thread_now();
    int64_t next = 0;

    for (struct place *place = places->first; place; place = place->next) {
        if (place->is_cut_off || place->until_ns == 0)
            continue;
        if (place->until_ns <= now)
            cut_off(place);
        else if (next == 0 || place->until_ns < next)
            next = place->until_ns;
    }
    return next;
}

static void make_room(const struct connection_slots *places)
{
    struct place *longest = NULL;

    for (struct place *place = places->first; place; place = place->next)
        if (!place->is_cut_off && place->until_ns > 0
            && (!longest || place->since_ns < longest->since_ns))
            longest = place;
    if (longest)
        cut_off(longest);
}

/* ---- all of them ---- */

int connection_slots_start(size_t n_places, struct connection_slots **ret, struct error *err)
{
    struct connection_slots *places = calloc(1, sizeof(*places));
    int r;

    if (!places)
        return error_set(err, ERROR_NOMEM, "no memory for a server");
    places->n_places = n_places;
    r = timed_thread_start(&places->thread, cut_off_late, places, err);
    if (r != 0) {
        free(places);
        return r;
    }
    *ret = places;
    return 0;
}

void connection_slots_stop(struct connection_slots *places)
{
    if (!places)
        return;
    timed_thread_stop(&places->thread);
    free(places);
}

/* ---- connections ---- */

static void wait_for(struct place *place, int seconds)
{
    place->since_ns = timed_thread_now();
    place->until_ns = place->since_ns + (int64_t)seconds * 1000000000;
    pthread_cond_signal(&place->places->thread.changed);
}

struct place *connection_slots_take(struct connection_slots *places, int socket, int seconds)
{
    struct place *place = calloc(1, sizeof(*place));

    if (!place)
        return NULL;
    place->places = places;
    place->socket = socket;
    pthread_mutex_lock(&places->thread.mutex);
    if (places->n_taken >= places->n_places)
        make_room(places);
    place->next = places->first;
    if (place->next)
        place->next->previous = place;
    places->first = place;
    places->n_taken++;
    wait_for(place, seconds);
    pthread_mutex_unlock(&places->thread.mutex);
    return place;
}

void connection_slots_leave(struct place *place)
{
    struct connection_slots *places = place ? place->places : NULL;

    if (!place)
        return;
    pthread_mutex_lock(&places->thread.mutex);
    places->n_taken -= !place->is_cut_off;
    if (place->previous)
        place->previous->next = place->next;
    else
        places->first = place->next;
    if (place->next)
        place->next->previous = place->previous;
    pthread_mutex_unlock(&places->thread.mutex);
    free(place);
}

void connection_slots_wait_for(struct place *place, int seconds)
{
    if (!place)
        return;
    pthread_mutex_lock(&place->places->thread.mutex);
    wait_for(place, seconds);
    pthread_mutex_unlock(&place->places->thread.mutex);
}

void connection_slots_work_for(struct place *place)
{
    if (!place)
        return;
    pthread_mutex_lock(&place->places->thread.mutex);
    place->until_ns = 0;
    pthread_mutex_unlock(&place->places->thread.mutex);
}
