/* SPDX-License-Identifier: MIT */
/*
 * batch_queue: passes batches from one producer to one consumer.
 *
 * A ring of batches. The queue's thread fills the oldest empty batch; the user empties the oldest
 * full one. With a single batch there is no thread: the user's thread fills it on request.
 *
 * Invariants
 *   BQ-1 Batches arrive once each, in the order of filling. A failed fill is reported after the
 *        batches before it.
 *   BQ-2 A batch is refilled only after the user has asked for the next one.
 *   BQ-3 Memory use is n_batches, from the beginning to the end.
 *
 * One user thread. Fails with fill's result; opening fails without memory or thread.
 */
#ifndef MTRACE_LIB_BATCH_QUEUE_H
#define MTRACE_LIB_BATCH_QUEUE_H

#include "lib/base/error.h"

#include <stddef.h>

struct batch_queue;

/* Fills a batch, in the queue's or the user's thread. Returns 1, 0 at the end, negative on failure.
 * The batch has its earlier content; at first it is all zero. */
typedef int batch_queue_fill_fn(void *context, void *batch, struct error *err);

/* context must live until batch_queue_close or batch_queue_stop. */
int batch_queue_open(size_t n_batches, size_t batch_bytes, batch_queue_fill_fn *fill, void *context,
                     struct batch_queue **ret, struct error *err);

/* The next batch, valid until the next call, with 1; 0 at the end, negative on failure. */
int batch_queue_next(struct batch_queue *queue, void **ret_batch, struct error *err);

/* Ends the thread; batch_queue_next still returns the batches filled before. */
void batch_queue_stop(struct batch_queue *queue);

/* NULL is fine; may be called before the end. */
void batch_queue_close(struct batch_queue *queue);

#endif
