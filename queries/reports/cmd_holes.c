/* SPDX-License-Identifier: MIT */
/*
 * holes: the free memory between live blocks (heap_scan.h), by heap and size, at the peak and the
 * end, or at the time of --at. In a bounded log (--aggregate) blocks freed after the peak have no
 * row: only the end is reported, unless --at names the peak (notes.h warns about what is missing).
 */
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "queries/core/computed_rows.h"
#include "queries/core/query.h"
#include "queries/heap/heap_tables.h"
#include "queries/reports/reports.h"

#include <string.h>

enum {
    N_CLASSES = 64 /* class n: from 2^n to 2^(n+1) - 1 bytes */
};

struct class_sum {
    int64_t holes;
    int64_t bytes;
};

struct counting {
    struct computed_rows *rows;
    const char *at;
    struct class_sum classes[N_CLASSES]; /* of the heap that is being read */
};

static int count_hole(void *to, const struct heap_scan_heap *heap, uint64_t bytes,
                      struct error *err)
{
    struct counting *counting = to;
    struct class_sum *sum = &counting->classes[63 - __builtin_clzll(bytes)];

    (void)heap;
    (void)err;
    sum->holes++;
    saturating_grow(&sum->bytes, (int64_t)bytes);
    return 0;
}

static void add_row(const struct counting *counting, const struct heap_scan_heap *heap, int class,
                    int64_t all_bytes)
{
    const struct class_sum *sum = &counting->classes[class];
    struct computed_rows *rows = counting->rows;

    computed_rows_begin(rows);
    computed_rows_add_int64(rows, heap->process_id);
    computed_rows_add_text(rows, counting->at);
    computed_rows_add_int64(rows, heap->at_ns);
    computed_rows_add_int64(rows, heap->heap_id);
    computed_rows_add_text(rows, heap->kind);
    computed_rows_add_int64(rows, (int64_t)(UINT64_C(1) << class));
    computed_rows_add_int64(rows, (int64_t)((UINT64_C(2) << class) - 1));
    computed_rows_add_int64(rows, sum->holes);
    computed_rows_add_int64(rows, sum->bytes);
    computed_rows_add_share(rows, (double)sum->bytes / (double)all_bytes);
    computed_rows_end(rows);
}

static int end_heap(void *to, const struct heap_scan_heap *heap,
                    const struct heap_scan_state *state, struct error *err)
{
    struct counting *counting = to;
    int64_t all_bytes = 0;

    (void)state;
    (void)err;
    for (int i = 0; i < N_CLASSES; i++)
        saturating_grow(&all_bytes, counting->classes[i].bytes);
    for (int i = 0; i < N_CLASSES; i++) {
        if (counting->classes[i].holes)
            add_row(counting, heap, i, all_bytes);
    }
    memset(counting->classes, 0, sizeof(counting->classes));
    return 0;
}

static int count_at(struct query *query, const struct filter_value *value,
                    struct computed_rows *rows, struct error *err)
{
    struct counting counting = {.rows = rows, .at = value->text};
    const struct heap_scan_sink sink = {.to = &counting, .hole = count_hole, .end = end_heap};
    struct heap_scan_instant instant;
    struct filter_sql filter = {0};
    int rc = heap_tables_compile(query, value, &filter, &instant, err);

    if (rc == 0)
        rc = heap_scan_run(&query->database, &instant, &sink, err);
    filter_sql_done(&filter);
    return rc;
}

static int count_at_named(struct query *query, const char *name, struct computed_rows *rows,
                          struct error *err)
{
    struct filter filter = {.n_values = 0};
    int rc = filter_add(&filter, filter_find("alive_at", strlen("alive_at")), name, err);

    return rc == 0 ? count_at(query, &filter.values[0], rows, err) : rc;
}

int cmd_holes_run(struct query *query, struct error *err)
{
    const struct filter_value *value = filter_instant(&query->options->filter);
    struct computed_rows rows;
    int rc = 0;

    computed_rows_init(&rows,
                       "process_id,at,at_ns,heap_id,kind,from_bytes,to_bytes,holes,bytes,share");
    if (rc == 0 && value)
        rc = count_at(query, value, &rows, err);
    if (rc == 0 && !value && !query->database.is_aggregate)
        rc = count_at_named(query, "peak", &rows, err);
    if (rc == 0 && !value)
        rc = count_at_named(query, "end", &rows, err);
    if (rc == 0)
        rc = computed_rows_show(&rows, query, err);
    computed_rows_done(&rows);
    return rc;
}
