/* SPDX-License-Identifier: MIT */
#include "importer/read/event_queue.h"

#include "importer/read/log_set.h"
#include "lib/base/batch_queue.h"

#include <stdlib.h>

struct event_queue {
    struct event_stream *stream; /* used by the thread while it runs */
    struct batch_queue *batches;
    struct error error; /* result of the stream, after the last batch */
    int code;
};

static int fill(void *context, void *to, struct error *err)
{
    struct event_queue *queue = context;
    struct event_batch *batch = to;

    if (queue->code) {
        *err = queue->error;
        return queue->code;
    }
    int more = event_stream_take(queue->stream, batch->events, EVENT_QUEUE_EVENTS, &batch->n_events,
                                 &queue->error);
    if (more < 0)
        queue->code = more;
    if (batch->n_events > 0)
        return 1;
    *err = queue->error;
    return queue->code;
}

int event_queue_open(struct log_set *set, struct stream_state *state, uint64_t mark,
                     struct event_queue **ret, struct error *err)
{
    struct event_queue *queue = calloc(1, sizeof *queue);

    if (!queue)
        return error_set(err, ERROR_NOMEM, "out of memory for events");
    int code = event_stream_resume(set, state, mark, &queue->stream, err);
    if (code == 0)
        code = batch_queue_open(set->is_frugal ? 1 : EVENT_QUEUE_BATCHES,
                                sizeof(struct event_batch), fill, queue, &queue->batches, err);
    if (code) {
        event_queue_close(queue);
        return code;
    }
    *ret = queue;
    return 0;
}

void event_queue_close(struct event_queue *queue)
{
    if (!queue)
        return;
    batch_queue_close(queue->batches);
    event_stream_close(queue->stream);
    free(queue);
}

int event_queue_next(struct event_queue *queue, const struct event_batch **ret, struct error *err)
{
    void *batch = NULL;
    int more = batch_queue_next(queue->batches, &batch, err);

    *ret = batch;
    return more;
}
