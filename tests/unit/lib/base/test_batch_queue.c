/* SPDX-License-Identifier: MIT */
/* Numbers through a queue: all of them, in order, whatever ends it. */
#include "lib/base/batch_queue.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <string.h>

enum {
    N_BATCHES = 3,
    BATCH_NUMBERS = 16,
    N_FILLS = 5000
};

struct batch {
    uint32_t numbers[BATCH_NUMBERS];
};

struct source {
    uint32_t next;
    uint32_t n_fills;
    int last;         /* what the fill behind n_fills returns */
    pthread_t filler; /* that ran the last fill */
};

static int fill(void *context, void *to, struct error *err)
{
    struct source *source = context;
    struct batch *batch = to;

    source->filler = pthread_self();
    if (source->n_fills-- == 0)
        return source->last ? error_set(err, source->last, "no more numbers") : 0;
    for (size_t i = 0; i < BATCH_NUMBERS; i++)
        batch->numbers[i] = source->next++;
    return 1;
}

static struct batch_queue *open_with(struct source *source, size_t n_batches)
{
    struct batch_queue *queue = NULL;

    assert_int_equal(batch_queue_open(n_batches, sizeof(struct batch), fill, source, &queue, NULL),
                     0);
    return queue;
}

static struct batch_queue *queue_open(struct source *source)
{
    return open_with(source, N_BATCHES);
}

/* Reads all that is left; what batch_queue_next said at last goes into *ret_last. */
static uint32_t count(struct batch_queue *queue, uint32_t from, int *ret_last, struct error *err)
{
    void *batch;
    uint32_t expected = from;

    while ((*ret_last = batch_queue_next(queue, &batch, err)) > 0)
        for (size_t i = 0; i < BATCH_NUMBERS; i++)
            assert_int_equal(((const struct batch *)batch)->numbers[i], expected++);
    return expected;
}

TEST(all_come_in_order)
{
    struct source source = {.n_fills = N_FILLS};
    struct batch_queue *queue = queue_open(&source);
    int last;

    assert_int_equal(count(queue, 0, &last, NULL), N_FILLS * BATCH_NUMBERS);
    assert_int_equal(last, 0);
    assert_int_equal(batch_queue_next(queue, &(void *){NULL}, NULL), 0);
    batch_queue_close(queue);
}

TEST(a_failure_comes_behind_the_batches)
{
    struct source source = {.n_fills = 7, .last = ERROR_IO};
    struct batch_queue *queue = queue_open(&source);
    struct error err = {0};
    int last;

    assert_int_equal(count(queue, 0, &last, &err), 7 * BATCH_NUMBERS);
    assert_int_equal(last, ERROR_IO);
    assert_string_equal(err.text, "no more numbers");
    batch_queue_close(queue);
}

TEST(filled_batches_are_delivered_after_a_stop)
{
    struct source source = {.n_fills = UINT32_MAX};
    struct batch_queue *queue = queue_open(&source);
    uint32_t n_numbers;
    void *batch;
    int last;

    assert_int_equal(batch_queue_next(queue, &batch, NULL), 1);
    batch_queue_stop(queue);
    n_numbers = source.next; /* the thread is gone */
    assert_int_equal(((const struct batch *)batch)->numbers[0], 0);
    assert_int_equal(count(queue, BATCH_NUMBERS, &last, NULL), n_numbers);
    assert_int_equal(last, 0);
    assert_true(n_numbers <= N_BATCHES * BATCH_NUMBERS);
    batch_queue_close(queue);
}

TEST(it_may_be_closed_before_the_end)
{
    struct source source = {.n_fills = UINT32_MAX};

    batch_queue_close(queue_open(&source));
    batch_queue_close(NULL);
}

TEST(one_batch_is_filled_by_its_user)
{
    struct source source = {.n_fills = 7, .last = ERROR_IO};
    struct batch_queue *queue = open_with(&source, 1);
    struct error err = {0};
    int last;

    assert_int_equal(count(queue, 0, &last, &err), 7 * BATCH_NUMBERS);
    assert_true(pthread_equal(source.filler, pthread_self()));
    assert_int_equal(last, ERROR_IO);
    assert_string_equal(err.text, "no more numbers");
    assert_int_equal(batch_queue_next(queue, &(void *){NULL}, NULL), ERROR_IO);
    batch_queue_close(queue);
}

TEST(one_batch_is_not_filled_after_a_stop)
{
    struct source source = {.n_fills = UINT32_MAX};
    struct batch_queue *queue = open_with(&source, 1);
    void *batch;

    assert_int_equal(batch_queue_next(queue, &batch, NULL), 1);
    batch_queue_stop(queue);
    assert_int_equal(batch_queue_next(queue, &batch, NULL), 0);
    assert_int_equal(source.next, BATCH_NUMBERS);
    batch_queue_close(queue);
}
