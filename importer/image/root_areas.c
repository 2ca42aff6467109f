/* SPDX-License-Identifier: MIT */
#include "importer/image/root_areas.h"

#include "importer/write/database.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

const char *const root_kind_names[ROOT_KINDS] = {"global", "tls", "mapping", "stack", "register"};

enum {
    PAGE_BYTES = 4096,
    RED_ZONE_BYTES = 128, /* System V ABI, x86-64; AArch64 has none */
    CHUNK_HEADER_BYTES = 16,
};

/* An interval of addresses that is left out. */
struct gap {
    uint64_t start, end;
};

struct gaps {
    struct gap *gaps;
    size_t n_gaps, capacity;
};

static int add_gap(struct gaps *gaps, uint64_t start, uint64_t end, struct error *err)
{
    if (end <= start)
        return 0;
    struct gap *grown =
        dynamic_array_reserve(gaps->gaps, &gaps->capacity, gaps->n_gaps + 1, sizeof *grown);
    if (!grown)
        return error_set(err, ERROR_NOMEM, "no memory for the roots of a heap image");
    gaps->gaps = grown;
    grown[gaps->n_gaps++] = (struct gap){start, end};
    return 0;
}

/* ---- allocators ---- */

static const char heaps_sql[] =
    "SELECT start_address, end_address FROM heaps WHERE process_id = ?1 AND ?2 IS NOT NULL";

static const char allocator_mappings_sql[] =
    "SELECT address, address + length FROM mmaps WHERE process_id = ?1 AND mapped_ns <= ?2"
    " AND ifnull(unmapped_ns > ?2, 1) AND backtrace_id IN"
    " (SELECT b.backtrace_id FROM backtraces AS b JOIN frames AS f USING (frame_id)"
    " JOIN objects AS o USING (object_id) WHERE o.path GLOB '*/lib*malloc*.so*')";

static const char ended_stacks_sql[] =
    "SELECT stack_address, stack_address + stack_bytes FROM threads WHERE process_id = ?1"
    " AND end_ns <= ?2 AND stack_address IS NOT NULL";

static int add_rows(sqlite3 *db, const char *sql, int64_t process_id, int64_t at_ns,
                    struct gaps *gaps, struct error *err)
{
    sqlite3_stmt *row;
    int step = SQLITE_DONE;
    int code = database_prepare(db, sql, &row, err);

    if (code)
        return code;
    sqlite3_bind_int64(row, 1, process_id);
    sqlite3_bind_int64(row, 2, at_ns);
    while (code == 0 && (step = sqlite3_step(row)) == SQLITE_ROW)
        code = add_gap(gaps, (uint64_t)sqlite3_column_int64(row, 0),
                       (uint64_t)sqlite3_column_int64(row, 1), err);
    if (code == 0 && step != SQLITE_DONE)
        code = database_error(db, err);
    sqlite3_finalize(row);
    return code;
}

static uint64_t page_of(uint64_t address)
{
    return address - address % PAGE_BYTES;
}

/* Pages with blocks belong to allocators, also where no heap is known. */
static int add_blocks(const struct block_index *index, struct gaps *gaps, struct error *err)
{
    struct gap run = {0, 0};
    int code = 0;

    for (uint32_t i = 0; code == 0 && i < index->n_blocks; i++) {
        const struct live_block_row *block = &index->blocks[i];
        uint64_t start = page_of(block->address - CHUNK_HEADER_BYTES);
        uint64_t end =
            page_of(block->address + block->size_bytes + block->slack_bytes + PAGE_BYTES - 1);

        if (start <= run.end) {
            run.end = end > run.end ? end : run.end;
            continue;
        }
        code = add_gap(gaps, run.start, run.end, err);
        run = (struct gap){start, end};
    }
    return code ? code : add_gap(gaps, run.start, run.end, err);
}

/* ---- stacks ---- */

static const struct image_registers *thread_in(const struct image_file *image, uint64_t start,
                                               uint64_t end, uint32_t *ret_thread)
{
    for (size_t i = 0; i < image->n_threads; i++) {
        uint64_t sp = image->threads[i].thread.sp;

        if (sp >= start && sp < end) {
            *ret_thread = (uint32_t)i;
            return &image->threads[i];
        }
    }
    return NULL;
}

/* True for the static TLS of the first thread; that of others lies on their stacks. */
static bool has_thread_pointer(const struct image_file *image, const struct image_range *range,
                               uint32_t *ret_thread)
{
    for (size_t i = 0; i < image->n_threads; i++) {
        uint64_t pointer = image->threads[i].thread.thread_pointer;

        *ret_thread = (uint32_t)i;
        if (pointer >= range->start && pointer < range->end)
            return true;
    }
    return false;
}

/* glibc keeps stacks of ended threads for later ones: one in use again is no gap. */
static size_t keep_unused(const struct image_file *image, struct gap *gaps, size_t n)
{
    size_t kept = 0;
    uint32_t thread;

    for (size_t i = 0; i < n; i++)
        if (!thread_in(image, gaps[i].start, gaps[i].end, &thread))
            gaps[kept++] = gaps[i];
    return kept;
}

/* ---- areas ---- */

static int by_start(const void *a, const void *b)
{
    const struct gap *left = a, *right = b;

    return left->start < right->start ? -1 : left->start > right->start;
}

static int add_area(struct root_areas *areas, struct root_area area, struct error *err)
{
    if (area.end <= area.start)
        return 0;
    struct root_area *grown =
        dynamic_array_reserve(areas->areas, &areas->capacity, areas->n_areas + 1, sizeof *grown);
    if (!grown)
        return error_set(err, ERROR_NOMEM, "no memory for the roots of a heap image");
    areas->areas = grown;
    grown[areas->n_areas++] = area;
    return 0;
}

static bool is_libc(const char *path)
{
    const char *name = strrchr(path, '/');

    return name
           && (strncmp(name, "/libc.so", 8) == 0 || strncmp(name, "/libc-2", 7) == 0
               || strstr(name, "malloc"));
}

/* What a scanned range is as a whole. */
static struct root_area area_of(const struct image_file *image, size_t i)
{
    const struct image_range *range = &image->ranges[i];
    struct root_area area = {range->start, range->end, ROOT_MAPPING, 0, (uint32_t)i, false};
    const char *path = image_file_path(image, range);
    size_t file = i;

    /* the kernel appends .bss to the file's last range as an anonymous one */
    while (!*path && file > 0 && image->ranges[file - 1].end == image->ranges[file].start) {
        file--;
        path = image_file_path(image, &image->ranges[file]);
        if (!*path)
            path = "";
    }
    if (thread_in(image, range->start, range->end, &area.thread)) {
        uint64_t sp = image->threads[area.thread].thread.sp;

        area.kind = ROOT_STACK;
        if (sp - range->start > RED_ZONE_BYTES)
            area.start = sp - RED_ZONE_BYTES;
    } else if (has_thread_pointer(image, range, &area.thread)) {
        area.kind = ROOT_TLS;
    } else if (*path == '/' && (image->ranges[file].flags & IMAGE_SHARED) == 0
               && (file == i || file + 1 == i)) {
        area.kind = ROOT_GLOBAL;
        area.range = (uint32_t)file;
        area.is_allocators = is_libc(path);
    }
    return area;
}

/* Adds the parts of the area that no gap covers. */
static int add_parts(struct root_areas *areas, struct root_area area, const struct gaps *gaps,
                     size_t *next_gap, struct error *err)
{
    int code = 0;

    while (*next_gap < gaps->n_gaps && gaps->gaps[*next_gap].end <= area.start)
        (*next_gap)++;
    for (size_t i = *next_gap; code == 0 && i < gaps->n_gaps && gaps->gaps[i].start < area.end;
         i++) {
        struct root_area part = area;

        if (gaps->gaps[i].end <= area.start)
            continue;
        part.end = gaps->gaps[i].start;
        code = add_area(areas, part, err);
        area.start = gaps->gaps[i].end;
    }
    return code ? code : add_area(areas, area, err);
}

/* The collector keeps its mappings out of core files. So may the program, but these have rows. */
static const char own_mapping_sql[] =
    "SELECT count(*) FROM mmaps WHERE process_id = ?1 AND mapped_ns <= ?2"
    " AND ifnull(unmapped_ns > ?2, 1) AND address < ?4 AND address + length > ?3";

static int add_collectors(sqlite3 *db, int64_t process_id, int64_t at_ns,
                          const struct image_file *image, struct gaps *gaps, struct error *err)
{
    sqlite3_stmt *row;
    int code = database_prepare(db, own_mapping_sql, &row, err);

    if (code)
        return code;
    for (size_t i = 0; code == 0 && i < image->n_ranges; i++) {
        const struct image_range *range = &image->ranges[i];

        if ((range->flags & IMAGE_NOT_DUMPED) == 0 || *image_file_path(image, range))
            continue;
        sqlite3_bind_int64(row, 1, process_id);
        sqlite3_bind_int64(row, 2, at_ns);
        sqlite3_bind_int64(row, 3, (int64_t)range->start);
        sqlite3_bind_int64(row, 4, (int64_t)range->end);
        if (sqlite3_step(row) != SQLITE_ROW)
            code = database_error(db, err);
        else if (sqlite3_column_int64(row, 0) == 0)
            code = add_gap(gaps, range->start, range->end, err);
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    return code;
}

static int add_ranges(const struct image_file *image, struct root_areas *areas,
                      const struct gaps *gaps, struct error *err)
{
    size_t next_gap = 0;
    int code = 0;

    for (size_t i = 0; code == 0 && i < image->n_ranges; i++)
        if ((image->ranges[i].flags & (IMAGE_SCANNED | IMAGE_OWN)) == IMAGE_SCANNED)
            code = add_parts(areas, area_of(image, i), gaps, &next_gap, err);
    return code;
}

int root_areas_make(sqlite3 *db, int64_t process_id, int64_t at_ns, const struct image_file *image,
                    const struct block_index *index, struct root_areas *areas, struct error *err)
{
    struct gaps gaps = {0};
    int code = add_rows(db, ended_stacks_sql, process_id, at_ns, &gaps, err);

    gaps.n_gaps = keep_unused(image, gaps.gaps, gaps.n_gaps);
    if (code == 0)
        code = add_rows(db, heaps_sql, process_id, at_ns, &gaps, err);
    if (code == 0)
        code = add_rows(db, allocator_mappings_sql, process_id, at_ns, &gaps, err);
    if (code == 0)
        code = add_blocks(index, &gaps, err);
    if (code == 0)
        code = add_collectors(db, process_id, at_ns, image, &gaps, err);
    if (code == 0 && gaps.n_gaps)
        qsort(gaps.gaps, gaps.n_gaps, sizeof *gaps.gaps, by_start);
    if (code == 0)
        code = add_ranges(image, areas, &gaps, err);
    free(gaps.gaps);
    return code;
}

void root_areas_done(struct root_areas *areas)
{
    free(areas->areas);
    *areas = (struct root_areas){0};
}
