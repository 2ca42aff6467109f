/* SPDX-License-Identifier: MIT */
/*
 * sample_rows: rows of memory_samples, from samples of totals and of heaps.
 *
 * Model:   heaps are looked at less often than totals: a row has the extent of all heaps as it was
 *          at the latest look, up to the row's own time; NULL before the first.
 * Invariants: SR-1 a sample becomes a row, unless another one of its process has the same time.
 * Threads: none.
 * Failure: memory and the database.
 */
#ifndef MTRACE_IMPORTER_SAMPLE_ROWS_H
#define MTRACE_IMPORTER_SAMPLE_ROWS_H

#include "support/error.h"

#include <sqlite3.h>
#include <stdint.h>

struct sample_rows;

int sample_rows_new(sqlite3 *db, uint32_t n_processes, struct sample_rows **ret, struct error *err);

/* NULL is fine. What waits for its heaps is lost without sample_rows_finish. */
void sample_rows_free(struct sample_rows *rows);

/* Both in order of time within a process. */
int sample_rows_memory(struct sample_rows *rows, uint32_t process_id, uint64_t time_ns,
                       uint64_t rss_bytes, uint64_t anonymous_bytes, uint64_t file_bytes,
                       struct error *err);
int sample_rows_heap(struct sample_rows *rows, uint32_t process_id, uint64_t time_ns,
                     uint64_t extent_bytes, struct error *err);

int sample_rows_finish(struct sample_rows *rows, struct error *err);

#endif
