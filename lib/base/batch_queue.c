/* SPDX-License-Identifier: MIT */
#include "lib/base/batch_queue.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct batch_queue {
    batch_queue_fill_fn *fill;
    void *context;
    char *batches;
    size_t n_batches, batch_bytes;
    pthread_t thread;
    bool has_thread;      /* the thread must be joined */
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t has_full;
    pthread_cond_t has_empty;
    size_t n_filled, n_emptied; /* ever; they index the ring */
    bool is_held;               /* the user still reads batch n_emptied */
    bool is_finished;           /* no more batches will be filled */
    bool is_closing;
    int code; /* why it is finished; 0: regular end */
    struct error error;
};

static void *batch_at(const struct batch_queue *queue, size_t number)
{
    return queue->batches + number % queue->n_batches * queue->batch_bytes;
}

static bool wait_for_empty(struct batch_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->n_filled - queue->n_emptied == queue->n_batches && !queue->is_closing)
        pthread_cond_wait(&queue->has_empty, &queue->lock);
    bool go_on = !queue->is_closing;
    pthread_mutex_unlock(&queue->lock);
    return go_on;
}

static void *run(void *context)
{
    struct batch_queue *queue = context;
    int more = 0;

    do {
        if (!wait_for_empty(queue))
            more = 0;
        else
            more = queue->fill(queue->context, batch_at(queue, queue->n_filled), &queue->error);
        pthread_mutex_lock(&queue->lock);
        queue->n_filled += more > 0;
        queue->is_finished = more <= 0;
        queue->code = more < 0 ? more : 0;
        pthread_cond_signal(&queue->has_full);
        pthread_mutex_unlock(&queue->lock);
    } while (more > 0);
    return NULL;
}

static int start(struct batch_queue *queue, struct error *err)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->has_full, NULL);
    pthread_cond_init(&queue->has_empty, NULL);
    if (queue->n_batches == 1)
        return 0;
    int r = pthread_create(&queue->thread, NULL, run, queue);
    queue->has_thread = r == 0;
    return r ? error_set_errno(err, r, "cannot start a thread") : 0;
}

static void free_all(struct batch_queue *queue)
{
    pthread_cond_destroy(&queue->has_empty);
    pthread_cond_destroy(&queue->has_full);
    pthread_mutex_destroy(&queue->lock);
    free(queue->batches);
    free(queue);
}

int batch_queue_open(size_t n_batches, size_t batch_bytes, batch_queue_fill_fn *fill, void *context,
                     struct batch_queue **ret, struct error *err)
{
    struct batch_queue *queue = calloc(1, sizeof *queue);
    char *batches = calloc(n_batches, batch_bytes);

    if (!queue || !batches) {
        free(queue);
        free(batches);
        return error_set(err, ERROR_NOMEM, "out of memory for %zu batches", n_batches);
    }
    *queue = (struct batch_queue){.fill = fill,
                                  .context = context,
                                  .batches = batches,
                                  .n_batches = n_batches,
                                  .batch_bytes = batch_bytes};
    int code = start(queue, err);
    if (code) {
        free_all(queue);
        return code;
    }
    *ret = queue;
    return 0;
}

static int fill_here(struct batch_queue *queue, void **ret_batch, struct error *err)
{
    if (!queue->is_finished) {
        queue->code = queue->fill(queue->context, queue->batches, &queue->error);
        queue->is_finished = queue->code <= 0;
    }
    *ret_batch = queue->batches;
    if (queue->code < 0 && err)
        *err = queue->error;
    return queue->code;
}

int batch_queue_next(struct batch_queue *queue, void **ret_batch, struct error *err)
{
    int more = 0;

    if (queue->n_batches == 1)
        return fill_here(queue, ret_batch, err);
    pthread_mutex_lock(&queue->lock);
    if (queue->is_held) {
        queue->n_emptied++;
        queue->is_held = false;
        /* Not for each batch: the thread is woken less often and runs for longer. */
        if (queue->n_filled - queue->n_emptied <= queue->n_batches / 2)
            pthread_cond_signal(&queue->has_empty);
    }
    while (queue->n_filled == queue->n_emptied && !queue->is_finished)
        pthread_cond_wait(&queue->has_full, &queue->lock);
    if (queue->n_filled > queue->n_emptied) {
        *ret_batch = batch_at(queue, queue->n_emptied);
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

void batch_queue_stop(struct batch_queue *queue)
{
    if (!queue->has_thread) {
        queue->code = queue->is_finished ? queue->code : 0;
        queue->is_finished = true;
        return;
    }
    pthread_mutex_lock(&queue->lock);
    queue->is_closing = true;
    pthread_cond_signal(&queue->has_empty);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->thread, NULL);
    queue->has_thread = false;
}

void batch_queue_close(struct batch_queue *queue)
{
    if (!queue)
        return;
    batch_queue_stop(queue);
    free_all(queue);
}
