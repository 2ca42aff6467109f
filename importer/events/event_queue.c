/* SPDX-License-Identifier: MIT */
#include "importer/events/event_queue.h"

#include <pthread.h>
#include <stdlib.h>

struct event_queue {
    struct event_stream *stream; /* the thread's while it runs */
    struct event_batch *batches; /* EVENT_QUEUE_BATCHES */
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t has_full;
    pthread_cond_t has_empty;
    size_t n_filled, n_emptied; /* ever; they index the ring */
    bool is_held;               /* the user still reads batch n_emptied */
    bool is_finished;           /* no more batches will be filled */
    bool is_closing;
    int code; /* why it is finished, 0: at the end */
    struct error error;
};

/* 1 when the batch is full, 0 at the end, negative on failure. */
static int fill(struct event_queue *queue, struct event_batch *batch, struct error *err)
{
    int more = 1;

    for (batch->n_events = 0; batch->n_events < EVENT_QUEUE_EVENTS; batch->n_events++) {
        more = event_stream_next(queue->stream, &batch->events[batch->n_events], err);
        if (more <= 0)
            break;
    }
    return more;
}

static bool wait_for_empty(struct event_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->n_filled - queue->n_emptied == EVENT_QUEUE_BATCHES && !queue->is_closing)
        pthread_cond_wait(&queue->has_empty, &queue->lock);
    bool go_on = !queue->is_closing;
    pthread_mutex_unlock(&queue->lock);
    return go_on;
}

static void *run(void *context)
{
    struct event_queue *queue = context;
    int more = 1;

    while (more > 0 && wait_for_empty(queue)) {
        struct event_batch *batch = &queue->batches[queue->n_filled % EVENT_QUEUE_BATCHES];
        more = fill(queue, batch, &queue->error);
        pthread_mutex_lock(&queue->lock);
        queue->n_filled += batch->n_events > 0;
        queue->is_finished = more <= 0;
        queue->code = more < 0 ? more : 0;
        pthread_cond_signal(&queue->has_full);
        pthread_mutex_unlock(&queue->lock);
    }
    return NULL;
}

static int start(struct event_queue *queue, struct error *err)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->has_full, NULL);
    pthread_cond_init(&queue->has_empty, NULL);
    int r = pthread_create(&queue->thread, NULL, run, queue);
    return r ? error_set_errno(err, r, "cannot start a thread") : 0;
}

static void free_all(struct event_queue *queue)
{
    event_stream_close(queue->stream);
    free(queue->batches);
    free(queue);
}

int event_queue_open(struct log_set *set, struct event_queue **ret, struct error *err)
{
    struct event_queue *queue = calloc(1, sizeof *queue);

    if (queue)
        queue->batches = malloc(EVENT_QUEUE_BATCHES * sizeof *queue->batches);
    if (!queue || !queue->batches) {
        free(queue);
        return error_set(err, ERROR_NOMEM, "out of memory for events");
    }
    int code = event_stream_open(set, &queue->stream, err);
    if (code == 0)
        code = start(queue, err);
    if (code) {
        free_all(queue);
        return code;
    }
    *ret = queue;
    return 0;
}

void event_queue_close(struct event_queue *queue)
{
    if (!queue)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->is_closing = true;
    pthread_cond_signal(&queue->has_empty);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->thread, NULL);
    pthread_cond_destroy(&queue->has_empty);
    pthread_cond_destroy(&queue->has_full);
    pthread_mutex_destroy(&queue->lock);
    free_all(queue);
}

int event_queue_next(struct event_queue *queue, const struct event_batch **ret, struct error *err)
{
    int more = 0;

    pthread_mutex_lock(&queue->lock);
    if (queue->is_held) {
        queue->n_emptied++;
        queue->is_held = false;
        /* Not for each batch: a thread that runs for longer is woken less often. */
        if (queue->n_filled - queue->n_emptied <= EVENT_QUEUE_BATCHES / 2)
            pthread_cond_signal(&queue->has_empty);
    }
    while (queue->n_filled == queue->n_emptied && !queue->is_finished)
        pthread_cond_wait(&queue->has_full, &queue->lock);
    if (queue->n_filled > queue->n_emptied) {
        *ret = &queue->batches[queue->n_emptied % EVENT_QUEUE_BATCHES];
        queue->is_held = true;
        more = 1;
    } else {
        more = queue->code;
        if (more && err)
            *err = queue->error;
    }
    pthread_mutex_unlock(&queue->lock);
    return more;
}
