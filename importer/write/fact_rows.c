/* SPDX-License-Identifier: MIT */
#include "importer/totals/facts_parts.h"
#include "importer/write/row_writer.h"
#include "importer/write/total_tables.h"
#include "lib/base/batch_queue.h"

#include <stdlib.h>

enum {
    N_BATCHES = 4
};

/* Fills a batch with whole allocations, in order of id. */
static int fill_batch(void *context, void *to, struct error *err)
{
    struct statistics *facts = context;
    struct row_batch *batch = to;
    struct allocation allocation;
    const struct pairing_chain *chain;
    int more = 0;

    batch->n_rows = batch->n_links = batch->n_chains = batch->n_charged = 0;
    while (batch->n_rows < ROW_BATCH_ROWS
           && (more = statistics_next_row(facts, &allocation, &chain, err)) > 0)
        row_batch_add(batch, &allocation, chain);
    if (more < 0)
        return more;
    return batch->n_rows > 0;
}

static int write_batches(struct batch_queue *queue, struct row_writer *writer, uint64_t n_total,
                         struct progress *progress, struct error *err)
{
    void *batch = NULL;
    uint64_t n_done = 0;
    int more = 0;
    int code = 0;

    while (code == 0 && (more = batch_queue_next(queue, &batch, err)) > 0) {
        n_done += ((const struct row_batch *)batch)->n_rows;
        if (writer)
            code = row_writer_write(writer, batch, err);
        if (code == 0)
            code = progress_update(progress, n_done, n_total, err);
    }
    return code ? code : more;
}

/* statistics_next_left without processes that are left out. */
static bool next_reported(struct statistics *facts, struct allocation *ret)
{
    const struct definitions *definitions = facts->definitions;

    while (statistics_next_left(facts, ret))
        if (!definitions->processes[definitions->threads[ret->thread].process].is_left_out)
            return true;
    return false;
}

/* Writes rows of the blocks that are live at the end, if only these are known. */
static int write_left(sqlite3 *db, struct statistics *facts, struct error *err)
{
    struct row_writer *writer = NULL;
    struct row_batch *batch = malloc(sizeof *batch);
    bool has_more = true;
    int code = batch ? row_writer_new(db, facts->definitions, heap_ranges_count(facts->heaps),
                                      &writer, err)
                     : error_set(err, ERROR_NOMEM, "out of memory");

    while (code == 0 && has_more) {
        struct allocation allocation;
        batch->n_rows = batch->n_links = batch->n_chains = batch->n_charged = 0;
        while (batch->n_rows < ROW_BATCH_ROWS && (has_more = next_reported(facts, &allocation)))
            row_batch_add(batch, &allocation, NULL);
        code = row_writer_write(writer, batch, err);
    }
    if (code == 0)
        code = row_writer_finish(writer, err);
    row_writer_free(writer);
    free(batch);
    return code;
}

int fact_rows_write(sqlite3 *db, struct statistics *facts, bool slim, struct progress *progress,
                    struct error *err)
{
    struct row_writer *writer = NULL;
    struct batch_queue *queue = NULL;
    bool were_skipped = false;
    int code = slim ? statistics_skip_rows(facts, &were_skipped, err) : 0;

    if (code == 0 && were_skipped && facts->left.is_wanted)
        return write_left(db, facts, err);
    if (code || were_skipped)
        return code;
    code = statistics_begin_rows(facts, err);

    if (code == 0 && !slim)
        code =
            row_writer_new(db, facts->definitions, heap_ranges_count(facts->heaps), &writer, err);
    if (code == 0)
        code =
            batch_queue_open(N_BATCHES, sizeof(struct row_batch), fill_batch, facts, &queue, err);
    if (code == 0)
        code = write_batches(queue, writer, statistics_n_allocations(facts), progress, err);
    if (code == 0 && writer)
        code = row_writer_finish(writer, err);
    batch_queue_close(queue);
    row_writer_free(writer);
    return code ? code : statistics_end_rows(facts, err);
}
