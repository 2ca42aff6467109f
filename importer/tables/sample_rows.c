/* SPDX-License-Identifier: MIT */
#include "importer/tables/sample_rows.h"

#include "importer/tables/database.h"

#include <stdbool.h>
#include <stdlib.h>

struct process_samples {
    uint64_t time_ns; /* of the row that waits; its heaps come behind it at the same instant */
    uint64_t rss_bytes, anonymous_bytes, file_bytes;
    uint64_t heaps_ns; /* of the latest look */
    uint64_t heaps_bytes;
    bool is_waiting;
    bool has_heaps;
};

struct sample_rows {
    sqlite3_stmt *insert;
    struct process_samples *processes; /* by id */
    uint32_t n_processes;
};

int sample_rows_new(sqlite3 *db, uint32_t n_processes, struct sample_rows **ret, struct error *err)
{
    struct sample_rows *rows = calloc(1, sizeof *rows);

    if (rows)
        rows->processes = calloc((size_t)n_processes + 1, sizeof *rows->processes);
    if (!rows || !rows->processes) {
        sample_rows_free(rows);
        return error_set(err, ERROR_NOMEM, "out of memory for samples");
    }
    rows->n_processes = n_processes;
    int code = database_prepare(
        db, "INSERT OR REPLACE INTO memory_samples VALUES (?, ?, ?, ?, ?, ?)", &rows->insert, err);
    if (code) {
        sample_rows_free(rows);
        return code;
    }
    *ret = rows;
    return 0;
}

void sample_rows_free(struct sample_rows *rows)
{
    if (!rows)
        return;
    sqlite3_finalize(rows->insert);
    free(rows->processes);
    free(rows);
}

/* Writes the row that waits. */
static int flush(struct sample_rows *rows, uint32_t id, struct error *err)
{
    struct process_samples *process = &rows->processes[id];

    if (!process->is_waiting)
        return 0;
    process->is_waiting = false;
    return database_insert(rows->insert, err, "uuummm", (uint64_t)id, process->time_ns,
                           process->rss_bytes, process->anonymous_bytes, process->file_bytes,
                           process->has_heaps ? process->heaps_bytes : UINT64_MAX);
}

int sample_rows_memory(struct sample_rows *rows, uint32_t process_id, uint64_t time_ns,
                       uint64_t rss_bytes, uint64_t anonymous_bytes, uint64_t file_bytes,
                       struct error *err)
{
    struct process_samples *process = &rows->processes[process_id];
    int code = flush(rows, process_id, err);

    process->is_waiting = true;
    process->time_ns = time_ns;
    process->rss_bytes = rss_bytes;
    process->anonymous_bytes = anonymous_bytes;
    process->file_bytes = file_bytes;
    return code;
}

int sample_rows_heap(struct sample_rows *rows, uint32_t process_id, uint64_t time_ns,
                     uint64_t extent_bytes, struct error *err)
{
    struct process_samples *process = &rows->processes[process_id];
    int code = process->time_ns < time_ns ? flush(rows, process_id, err) : 0;

    if (!process->has_heaps || process->heaps_ns != time_ns)
        process->heaps_bytes = 0; /* a new look begins */
    process->has_heaps = true;
    process->heaps_ns = time_ns;
    process->heaps_bytes += extent_bytes;
    return code;
}

int sample_rows_finish(struct sample_rows *rows, struct error *err)
{
    for (uint32_t id = 1; id <= rows->n_processes; id++) {
        int code = flush(rows, id, err);
        if (code)
            return code;
    }
    return 0;
}
