/* SPDX-License-Identifier: MIT */
#include "importer/read/read_ahead.h"

#include "lib/base/batch_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

struct read_ahead {
    struct log_set *set;
    pthread_mutex_t reading; /* guards `pack` */
    struct pack *pack;
    size_t n_loaded;           /* places of set->order */
    struct batch_queue *queue; /* of pointers to segments */
    pthread_mutex_t lock;      /* guards `spare` */
    struct loaded_segment *spare;
};

static void free_segment(struct loaded_segment *segment)
{
    if (segment->payload)
        munmap(segment->payload, LOG_SEGMENT_BYTES);
    free(segment);
}

/* Memory that can be returned page by page (event_stream.c). NULL: no memory. */
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

static struct loaded_segment *take_spare(struct read_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    struct loaded_segment *segment = ahead->spare;
    if (segment)
        ahead->spare = segment->next;
    pthread_mutex_unlock(&ahead->lock);
    return segment ? segment : new_segment();
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

static int fill(void *context, void *batch, struct error *err)
{
    struct read_ahead *ahead = context;
    struct loaded_segment *segment;

    if (ahead->n_loaded == ahead->set->n_order)
        return 0;
    segment = take_spare(ahead);
    if (!segment)
        return error_set(err, ERROR_NOMEM, "out of memory");
    load(ahead, ahead->n_loaded++, segment);
    *(struct loaded_segment **)batch = segment;
    return 1;
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
    r = batch_queue_open(set->is_frugal ? 1 : READ_AHEAD_SEGMENTS, sizeof(struct loaded_segment *),
                         fill, ahead, &ahead->queue, err);
    if (r != 0) {
        read_ahead_close(ahead);
        return r;
    }
    *ret = ahead;
    return 0;
}

void read_ahead_close(struct read_ahead *ahead)
{
    struct loaded_segment *segment;

    if (!ahead)
        return;
    if (ahead->queue) {
        batch_queue_stop(ahead->queue);
        while ((segment = read_ahead_take(ahead)) != NULL)
            free_segment(segment);
    }
    batch_queue_close(ahead->queue);
    while ((segment = ahead->spare) != NULL) {
        ahead->spare = segment->next;
        free_segment(segment);
    }
    pthread_mutex_destroy(&ahead->reading);
    pthread_mutex_destroy(&ahead->lock);
    pack_free(ahead->pack);
    free(ahead);
}

struct loaded_segment *read_ahead_take(struct read_ahead *ahead)
{
    void *batch;

    return batch_queue_next(ahead->queue, &batch, NULL) > 0 ? *(struct loaded_segment **)batch
                                                            : NULL;
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
