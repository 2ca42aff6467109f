/* SPDX-License-Identifier: MIT */
/*
 * batch_queue: what one thread makes and another one uses, in batches.
 *
 * Model:   a ring of batches. A thread of the queue's own fills the oldest empty one, the user
 *          empties the oldest full one. One batch alone is filled in the user's thread, when it is asked for: whoever does both in turn pays for
 *          no other thread.
 * Invariants
 *   BQ-1 Batches come in the order in which they were filled, each once; the failure of a fill
 *        comes behind the batches before it.
 *   BQ-2 A batch is not filled again before the user asks for the next one.
 *   BQ-3 Memory: n_batches, from the beginning to the end.
 * Threads: one user.
 * Failure: what fill returned; memory, or no thread, when it is opened.
 */
#ifndef MTRACE_LIB_BATCH_QUEUE_H
#define MTRACE_LIB_BATCH_QUEUE_H

#include "lib/base/error.h"

#include <stddef.h>

struct batch_queue;

/* Fills a batch, in the queue's thread, or the user's: 1, 0 when there is nothing more, negative on failure. A
 * batch comes as it was left; at first it is all zero. */
typedef int batch_queue_fill_fn(void *context, void *batch, struct error *err);

/* context must live until batch_queue_close or batch_queue_stop. */
int batch_queue_open(size_t n_batches, size_t batch_bytes, batch_queue_fill_fn *fill, void *context,
                     struct batch_queue **ret, struct error *err);

/* The next batch, valid until the next call, with 1; 0 at the end, negative on failure. */
int batch_queue_next(struct batch_queue *queue, void **ret_batch, struct error *err);

/* Ends the thread; batch_queue_next gives what was filled until then. */
void batch_queue_stop(struct batch_queue *queue);

/* NULL is fine; also before the end. */
void batch_queue_close(struct batch_queue *queue);

#endif
