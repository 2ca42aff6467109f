/* SPDX-License-Identifier: MIT */
#include "importer/facts/facts_parts.h"
#include "importer/tables/fact_tables.h"
#include "importer/tables/row_writer.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    N_BATCHES = 4
};

/* Batches go round: the producer fills the oldest empty one, the consumer empties the oldest full
 * one. All fields below the lock belong to it. */
struct row_pump {
    struct facts *facts;
    struct row_batch *batches; /* N_BATCHES */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t n_filled, n_emptied;
    bool is_finished; /* no more batches will be filled */
    bool is_stopped;  /* the consumer gave up */
    int code;         /* of the producer */
    struct error error;
};

/* 1 when the batch has rows, 0 at the end, negative on failure. */
static int fill_batch(struct facts *facts, struct row_batch *batch, struct error *err)
{
    struct allocation allocation;
    const struct pairing_chain *chain;
    int more = 0;

    batch->n_rows = batch->n_links = batch->n_chains = 0;
    while (batch->n_rows < ROW_BATCH_ROWS
           && (more = facts_next_row(facts, &allocation, &chain, err)) > 0)
        row_batch_add(batch, &allocation, chain);
    if (more < 0)
        return more;
    return batch->n_rows > 0;
}

static bool wait_for_empty(struct row_pump *pump)
{
    pthread_mutex_lock(&pump->lock);
    while (pump->n_filled - pump->n_emptied == N_BATCHES && !pump->is_stopped)
        pthread_cond_wait(&pump->changed, &pump->lock);
    bool go_on = !pump->is_stopped;
    pthread_mutex_unlock(&pump->lock);
    return go_on;
}

static void *produce(void *context)
{
    struct row_pump *pump = context;
    int more = 1;

    while (more > 0 && wait_for_empty(pump)) {
        more = fill_batch(pump->facts, &pump->batches[pump->n_filled % N_BATCHES], &pump->error);
        pthread_mutex_lock(&pump->lock);
        if (more > 0)
            pump->n_filled++;
        else
            pump->is_finished = true;
        pump->code = more < 0 ? more : 0;
        pthread_cond_signal(&pump->changed);
        pthread_mutex_unlock(&pump->lock);
    }
    return NULL;
}

static const struct row_batch *wait_for_full(struct row_pump *pump)
{
    const struct row_batch *batch = NULL;

    pthread_mutex_lock(&pump->lock);
    while (pump->n_filled == pump->n_emptied && !pump->is_finished)
        pthread_cond_wait(&pump->changed, &pump->lock);
    if (pump->n_filled > pump->n_emptied)
        batch = &pump->batches[pump->n_emptied % N_BATCHES];
    pthread_mutex_unlock(&pump->lock);
    return batch;
}

static void give_back(struct row_pump *pump, bool stop)
{
    pthread_mutex_lock(&pump->lock);
    pump->n_emptied++;
    pump->is_stopped = stop;
    if (stop || pump->n_filled - pump->n_emptied <= N_BATCHES / 2) /* rather rarely than at once */
        pthread_cond_signal(&pump->changed);
    pthread_mutex_unlock(&pump->lock);
}

static int consume(struct row_pump *pump, struct row_writer *writer, struct progress *progress,
                   struct error *err)
{
    const struct row_batch *batch;
    uint64_t n_done = 0;
    uint64_t n_total = facts_n_allocations(pump->facts);
    int code = 0;

    while (code == 0 && (batch = wait_for_full(pump)) != NULL) {
        n_done += batch->n_rows;
        if (writer)
            code = row_writer_write(writer, batch, err);
        if (code == 0)
            code = progress_update(progress, n_done, n_total, err);
        give_back(pump, code != 0);
    }
    return code;
}

static int pump_rows(struct row_pump *pump, struct row_writer *writer, struct progress *progress,
                     struct error *err)
{
    pthread_t producer;

    if (pthread_create(&producer, NULL, produce, pump) != 0)
        return error_set(err, ERROR_NOMEM, "cannot start a thread");
    int code = consume(pump, writer, progress, err);
    pthread_join(producer, NULL);
    if (code == 0 && pump->code) {
        code = pump->code;
        if (err)
            *err = pump->error;
    }
    return code;
}

static int run_pump(struct facts *facts, struct row_writer *writer, struct progress *progress,
                    struct error *err)
{
    struct row_pump pump = {.facts = facts};

    pump.batches = malloc(N_BATCHES * sizeof *pump.batches);
    if (!pump.batches)
        return error_set(err, ERROR_NOMEM, "out of memory for rows");
    pthread_mutex_init(&pump.lock, NULL);
    pthread_cond_init(&pump.changed, NULL);
    int code = pump_rows(&pump, writer, progress, err);
    pthread_cond_destroy(&pump.changed);
    pthread_mutex_destroy(&pump.lock);
    free(pump.batches);
    return code;
}

int fact_rows_write(sqlite3 *db, struct facts *facts, bool slim, struct progress *progress,
                    struct error *err)
{
    struct row_writer *writer = NULL;
    int code = facts_begin_rows(facts, err);

    if (code == 0 && !slim)
        code = row_writer_new(db, facts->definitions->n_threads, heap_ranges_count(facts->heaps),
                              &writer, err);
    if (code == 0)
        code = run_pump(facts, writer, progress, err);
    row_writer_free(writer);
    return code ? code : facts_end_rows(facts, err);
}
