/* SPDX-License-Identifier: MIT */
#include "importer/events/read_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct read_ahead {
    struct log_set *set;
    pthread_mutex_t reading; /* guards `pack` */
    struct pack *pack;
    pthread_t thread;
    pthread_mutex_t lock;      /* guards all below */
    pthread_cond_t has_loaded; /* something was queued, or the end was reached */
    pthread_cond_t has_room;
    struct loaded_segment *queue[READ_AHEAD_SEGMENTS];
    size_t n_taken, n_queued; /* ever; they index the ring */
    struct loaded_segment *spare;
    bool is_closing;
};

static void free_segment(struct loaded_segment *segment)
{
    if (segment->payload)
        munmap(segment->payload, LOG_SEGMENT_BYTES);
    free(segment);
}

/* Memory that can be given back by the page (merge.c). NULL without memory. */
static struct loaded_segment *new_segment(void)
{
    struct loaded_segment *segment = calloc(1, sizeof(*segment));
    void *payload;

    if (!segment)
        return NULL;
    payload =
        mmap(NULL, LOG_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (payload == MAP_FAILED) {
        free(segment);
        return NULL;
    }
    segment->payload = payload;
    return segment;
}

/* A spare or new segment, once there is room for it in the queue; NULL when closing. */
static struct loaded_segment *wait_for_room(struct read_ahead *ahead)
{
    struct loaded_segment *segment = NULL;

    pthread_mutex_lock(&ahead->lock);
    while (!ahead->is_closing && ahead->n_queued - ahead->n_taken == READ_AHEAD_SEGMENTS)
        pthread_cond_wait(&ahead->has_room, &ahead->lock);
    if (!ahead->is_closing && ahead->spare) {
        segment = ahead->spare;
        ahead->spare = segment->next;
    } else if (!ahead->is_closing) {
        segment = new_segment();
    }
    pthread_mutex_unlock(&ahead->lock);
    return segment;
}

static void enqueue(struct read_ahead *ahead, struct loaded_segment *segment)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->queue[ahead->n_queued++ % READ_AHEAD_SEGMENTS] = segment;
    pthread_cond_signal(&ahead->has_loaded);
    pthread_mutex_unlock(&ahead->lock);
}

static void load(struct read_ahead *ahead, size_t place, struct loaded_segment *segment)
{
    const struct segment_place *at = &ahead->set->order[place];
    struct log_input *input = ahead->set->inputs[at->input];

    segment->place = place;
    pthread_mutex_lock(&ahead->reading);
    segment->result =
        log_input_read(input, at->ref, ahead->pack, segment->payload, &segment->ref, &segment->err);
    pthread_mutex_unlock(&ahead->reading);
}

static void finish(struct read_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->is_closing = true;
    pthread_cond_signal(&ahead->has_loaded);
    pthread_mutex_unlock(&ahead->lock);
}

static void *run(void *context)
{
    struct read_ahead *ahead = context;

    for (size_t place = 0; place < ahead->set->n_order; place++) {
        struct loaded_segment *segment = wait_for_room(ahead);
        if (!segment)
            break;
        load(ahead, place, segment);
        enqueue(ahead, segment);
    }
    finish(ahead);
    return NULL;
}

int read_ahead_open(struct log_set *set, struct read_ahead **ret, struct error *err)
{
    struct read_ahead *ahead = calloc(1, sizeof(*ahead));
    int r;

    if (ahead)
        ahead->pack = pack_new();
    if (!ahead || !ahead->pack) {
        free(ahead);
        return error_set(err, ERROR_NOMEM, "out of memory");
    }
    ahead->set = set;
    pthread_mutex_init(&ahead->reading, NULL);
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->has_loaded, NULL);
    pthread_cond_init(&ahead->has_room, NULL);
    r = pthread_create(&ahead->thread, NULL, run, ahead);
    if (r != 0) {
        pack_free(ahead->pack);
        free(ahead);
        return error_set_errno(err, r, "cannot start a thread");
    }
    *ret = ahead;
    return 0;
}

void read_ahead_close(struct read_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->is_closing = true;
    pthread_cond_signal(&ahead->has_room);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    while (ahead->n_taken < ahead->n_queued)
        free_segment(ahead->queue[ahead->n_taken++ % READ_AHEAD_SEGMENTS]);
    while (ahead->spare) {
        struct loaded_segment *next = ahead->spare->next;
        free_segment(ahead->spare);
        ahead->spare = next;
    }
    pthread_mutex_destroy(&ahead->reading);
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->has_loaded);
    pthread_cond_destroy(&ahead->has_room);
    pack_free(ahead->pack);
    free(ahead);
}

struct loaded_segment *read_ahead_take(struct read_ahead *ahead)
{
    struct loaded_segment *segment = NULL;

    pthread_mutex_lock(&ahead->lock);
    while (ahead->n_queued == ahead->n_taken && !ahead->is_closing)
        pthread_cond_wait(&ahead->has_loaded, &ahead->lock);
    if (ahead->n_queued > ahead->n_taken)
        segment = ahead->queue[ahead->n_taken++ % READ_AHEAD_SEGMENTS];
    pthread_cond_signal(&ahead->has_room);
    pthread_mutex_unlock(&ahead->lock);
    return segment;
}

int read_ahead_again(struct read_ahead *ahead, const struct loaded_segment *segment,
                     uint64_t *payload, struct error *err)
{
    struct log_input *input = ahead->set->inputs[ahead->set->order[segment->place].input];
    size_t ref;
    int r;

    pthread_mutex_lock(&ahead->reading);
    r = log_input_read(input, segment->ref, ahead->pack, payload, &ref, err);
    pthread_mutex_unlock(&ahead->reading);
    return r;
}

void read_ahead_release(struct read_ahead *ahead, struct loaded_segment *segment)
{
    pthread_mutex_lock(&ahead->lock);
    segment->next = ahead->spare;
    ahead->spare = segment;
    pthread_mutex_unlock(&ahead->lock);
}
