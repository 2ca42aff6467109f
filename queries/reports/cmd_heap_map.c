/* SPDX-License-Identifier: MIT */
/* heap-map: the heaps at the peak, or at the time of --at, as a picture (heap_picture.h). */
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/query.h"
#include "queries/core/tree_title.h"
#include "queries/heap/heap_picture.h"
#include "queries/heap/heap_tables.h"
#include "queries/render/stack_text.h"
#include "queries/render/svg.h"
#include "queries/reports/reports.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_HEAPS = 64
};

/* Data that is read in addition to the heaps. */
struct map {
    struct query *query;
    struct heap_picture picture;
    int64_t n_all;
    uint64_t all_bytes, live_bytes, drawn_bytes;
    int64_t at_ns;
    int64_t n_instants;
    char at[64];
};

/* ---- heaps ---- */

static const char heaps_sql[] =
    "SELECT f.process_id, f.at, f.at_ns, f.heap_id, f.kind, h.start_address, f.extent_bytes, f.live_bytes,"
    " f.slack_bytes, f.overhead_bytes, f.hole_bytes, f.free_page_bytes, f.top_bytes, f.topmost_allocation_id,"
    " f.function, f.source, f.line, f.module, n.snapshot_id, z.page_bytes, h.unseen_blocks IS NOT NULL"
    " FROM fragmentation AS f CROSS JOIN heaps AS h ON h.heap_id = f.heap_id"
    " CROSS JOIN snapshots AS n ON n.process_id = f.process_id AND n.at_ns = f.at_ns AND n.reason = f.at"
    " CROSS JOIN _page_size AS z"
    " WHERE f.at = :at AND :process IN (0, f.process_id) AND f.extent_bytes > 0"
    " AND f.extent_bytes >> 48 = 0 AND ifnull(f.top_bytes, 0) BETWEEN 0 AND f.extent_bytes" /* a damaged file
                                                                                  */
    " ORDER BY f.extent_bytes DESC, f.heap_id";

static void read_topmost(struct heap_picture_heap *heap, struct sqlite3_stmt *row)
{
    static const struct where_columns place = {14, 15, 16, 17};
    char where[HEAP_PICTURE_TEXT_BYTES - 80];

    if (sqlite3_column_type(row, 13) == SQLITE_NULL)
        return;
    stack_text_format_place(row, &place, where, sizeof(where));
    (void)snprintf(heap->topmost, sizeof(heap->topmost),
                   "the topmost block, allocation %lld, is of %s",
                   (long long)sqlite3_column_int64(row, 13), where);
}

static void read_heap(struct heap_picture_heap *heap, struct sqlite3_stmt *row, bool has_process)
{
    uint64_t values[7];
    int used = 0;

    for (int i = 0; i < 7; i++)
        values[i] = (uint64_t)sqlite3_column_int64(row, 6 + i);
    *heap = (struct heap_picture_heap){
        .heap_id = sqlite3_column_int64(row, 3),
        .snapshot_id = sqlite3_column_int64(row, 18),
        .start = (uint64_t)sqlite3_column_int64(row, 5),
        .has_unseen = sqlite3_column_int(row, 20) != 0,
        .parts = {values[0], values[1], values[2], values[3], values[4], values[5], values[6]}};
    if (has_process)
        used = snprintf(heap->name, sizeof(heap->name),
                        "process %lld: ", (long long)sqlite3_column_int64(row, 0));
    (void)snprintf(heap->name + used, sizeof(heap->name) - (size_t)used, "%s heap %lld",
                   rundb_text(row, 4), (long long)heap->heap_id);
    read_topmost(heap, row);
}

static int compare_heaps(const void *left, const void *right)
{
    const struct heap_picture_heap *a = left;
    const struct heap_picture_heap *b = right;

    if (a->snapshot_id != b->snapshot_id)
        return a->snapshot_id < b->snapshot_id ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

static void add_heap(struct map *map, struct sqlite3_stmt *row)
{
    struct heap_picture *picture = &map->picture;

    picture->page_bytes = heap_parts_page_bytes(sqlite3_column_int64(row, 19));
    if (map->n_all == 0 || map->at_ns != sqlite3_column_int64(row, 2))
        map->n_instants++;
    map->at_ns = sqlite3_column_int64(row, 2);
    (void)snprintf(map->at, sizeof(map->at), "%s", rundb_text(row, 1));
    map->n_all++;
    map->all_bytes += (uint64_t)sqlite3_column_int64(row, 6);
    map->live_bytes += (uint64_t)sqlite3_column_int64(row, 7);
    if (picture->n_heaps == MAX_HEAPS)
        return;
    map->drawn_bytes += (uint64_t)sqlite3_column_int64(row, 6);
    read_heap(&picture->heaps[picture->n_heaps++], row, map->query->style.has_process);
}

static int read_heaps(struct map *map, struct error *err)
{
    const struct filter_value *value = filter_instant(&map->query->options->filter);
    const struct rundb *database = &map->query->database;
    struct sqlite3_stmt *stmt = NULL;
    int rc = rundb_prepare(database, heaps_sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_text(stmt, 1, value ? value->text : "peak", -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, map->query->options->process_id);
    map->picture.heaps = calloc(MAX_HEAPS, sizeof(*map->picture.heaps));
    if (!map->picture.heaps)
        rc = error_set(err, ERROR_NOMEM, "no memory for %d heaps", MAX_HEAPS);
    while (rc == 0 && (rc = rundb_step(database, stmt, err)) == 1) {
        add_heap(map, stmt);
        rc = 0;
    }
    sqlite3_finalize(stmt);
    if (rc == 0 && map->n_all)
        qsort(map->picture.heaps, map->picture.n_heaps, sizeof(*map->picture.heaps), compare_heaps);
    return rc;
}

/* ---- pages ---- */

static const char pages_sql[] =
    "SELECT g.page_address, g.usable_bytes, g.live_blocks, s.function, s.source, s.line, s.module,"
    " g.owner_backtrace_id, g.page_count FROM heap_pages AS g"
    " LEFT JOIN backtraces AS b ON b.backtrace_id = iif(:is_single, g.owner_backtrace_id, NULL)"
    " LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id"
    " WHERE g.snapshot_id = :snapshot AND g.page_address >= :start AND g.page_address < :end";

/* A row is one page, or several pages filled by one block, which may span cells. */
static void add_pages(const struct heap_picture *picture, struct heap_picture_heap *heap,
                      struct sqlite3_stmt *row)
{
    static const struct where_columns place = {3, 4, 5, 6};
    uint64_t at = (uint64_t)sqlite3_column_int64(row, 0) - heap->start;
    uint64_t n_left = (uint64_t)sqlite3_column_int64(row, 8);
    uint64_t page_live_bytes = (uint64_t)sqlite3_column_int64(row, 1) / (n_left ? n_left : 1);
    char where[HEAP_PICTURE_TEXT_BYTES] = "";

    if (picture->cell_bytes == picture->page_bytes && sqlite3_column_type(row, 7) != SQLITE_NULL)
        stack_text_format_place(row, &place, where, sizeof(where));
    while (n_left > 0 && at / picture->cell_bytes < heap_picture_cells(picture, heap)) {
        struct heap_picture_cell *cell = &heap->cells[at / picture->cell_bytes];
        uint64_t n_here = (picture->cell_bytes - at % picture->cell_bytes) / picture->page_bytes;
        n_here = n_here < 1 ? 1 : n_here; /* in a damaged file a page may be anywhere */
        n_here = n_here < n_left ? n_here : n_left;
        cell->live_bytes += n_here * page_live_bytes;
        cell->live_blocks += (uint64_t)sqlite3_column_int64(row, 2);
        cell->n_used += n_here;
        if (where[0]) {
            free(cell->owner);
            cell->owner = strdup(where);
        }
        at += n_here * picture->page_bytes;
        n_left -= n_here;
    }
}

static int read_pages(struct map *map, struct error *err)
{
    const struct rundb *database = &map->query->database;
    struct heap_picture *picture = &map->picture;
    struct sqlite3_stmt *stmt = NULL;
    int rc = rundb_prepare(database, pages_sql, &stmt, err);

    for (size_t i = 0; rc == 0 && i < picture->n_heaps; i++) {
        struct heap_picture_heap *heap = &picture->heaps[i];
        sqlite3_bind_int(stmt, 1, picture->cell_bytes == picture->page_bytes);
        sqlite3_bind_int64(stmt, 2, heap->snapshot_id);
        sqlite3_bind_int64(stmt, 3, (int64_t)heap->start);
        sqlite3_bind_int64(
            stmt, 4, (int64_t)(heap->start + heap->parts.extent_bytes - heap->parts.top_bytes));
        while (rc == 0 && (rc = rundb_step(database, stmt, err)) == 1) {
            add_pages(picture, heap, stmt);
            rc = 0;
        }
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- all ---- */

static int format_title(const struct map *map, char *text, size_t size, struct error *err)
{
    bool is_named = strcmp(map->at, "peak") == 0 || strcmp(map->at, "end") == 0;
    char processes[256];
    char time[UNITS_TEXT_BYTES + 4] = "";
    char bytes[UNITS_TEXT_BYTES];
    char heaps[UNITS_TEXT_BYTES];
    char live[UNITS_TEXT_BYTES];
    char duration[UNITS_TEXT_BYTES];
    int rc = tree_title_processes(map->query, processes, sizeof(processes), err);

    if (rc != 0)
        return rc;
    if (map->n_instants == 1)
        (void)snprintf(time, sizeof(time), " (%s)", units_format_duration(map->at_ns, duration));
    (void)snprintf(text, size, "%s: heaps at %s%s%s, %s in %s, %s live", processes,
                   is_named ? "the " : "", map->at, time,
                   units_format_bytes((int64_t)map->all_bytes, bytes),
                   units_format_counted(map->n_all, "heap", heaps),
                   units_format_share((double)map->live_bytes / (double)map->all_bytes, live));
    return 0;
}

static int draw(struct map *map, struct error *err)
{
    char title[HEAP_PICTURE_TEXT_BYTES];
    char note[128] = "";
    char bytes[UNITS_TEXT_BYTES];
    int64_t n_left = map->n_all - (int64_t)map->picture.n_heaps;
    int rc = format_title(map, title, sizeof(title), err);

    if (rc == 0)
        rc = heap_picture_divide(&map->picture, err);
    if (rc == 0)
        rc = read_pages(map, err);
    if (rc != 0)
        return rc;
    if (n_left > 0)
        (void)snprintf(note, sizeof(note), "%lld smaller heaps of %s together are not drawn",
                       (long long)n_left,
                       units_format_bytes((int64_t)(map->all_bytes - map->drawn_bytes), bytes));
    map->picture.title = title;
    map->picture.note = note;
    heap_picture_draw(&map->picture, map->query->out);
    map->picture.title = map->picture.note = ""; /* the texts end here */
    return 0;
}

int cmd_heap_map_run(struct query *query, struct error *err)
{
    struct map map = {.query = query};
    int rc = svg_check_output(&query->style, err);

    if (rc == 0)
        rc = read_heaps(&map, err);
    if (rc == 0 && map.n_all == 0)
        rc = error_set(err, ERROR_NOT_FOUND, "nothing to draw: '%s' has no heap at that time",
                       query->options->database_path);
    if (rc == 0)
        rc = draw(&map, err);
    heap_picture_done(&map.picture);
    return rc;
}
