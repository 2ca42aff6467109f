/* SPDX-License-Identifier: MIT */
#include "importer/image/heap_images.h"

#include "importer/image/core_file.h"
#include "importer/image/dominators.h"
#include "importer/image/image_dwfl.h"
#include "importer/image/reachability.h"
#include "importer/write/database.h"
#include "lib/base/hash_map.h"
#include "symbolizer/demangle.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a root holds on shortest paths. */
struct root_totals {
    int64_t root_id; /* 0: it holds nothing */
    uint64_t bytes, blocks;
};

/* One image and what was found in it. */
struct analysis {
    sqlite3 *db;
    int64_t image_id, process_id, at_ns;
    bool is_partial;        /* not all blocks are known */
    const char *executable; /* NULL: not known */
    struct image_file image;
    struct block_index index;
    struct root_areas areas;
    Dwfl *dwfl;
    struct stack_functions *stacks;
    struct heap_graph graph;
    struct block_reach *reach;
    struct root_totals *roots; /* of the graph's roots */
    struct dominators dominators;
};

static const char *const cause_names[] = {
    [IMAGE_CAUSE_EXIT] = "exit",       [IMAGE_CAUSE_CONTROL] = "control",
    [IMAGE_CAUSE_PROGRAM] = "program", [IMAGE_CAUSE_RSS] = "rss",
    [IMAGE_CAUSE_SIGNAL] = "signal",   [IMAGE_CAUSE_CORE] = "core"};

static const char *const method_names[] = {
    [IMAGE_METHOD_STOP] = "stop", [IMAGE_METHOD_FORK] = "fork", [IMAGE_METHOD_CORE] = "core"};

static const char *name_of(const char *const *names, size_t n_names, uint32_t value)
{
    return value < n_names ? names[value] : NULL;
}

/* ---- rows ---- */

static int write_image(const struct analysis *analysis, struct error *err)
{
    const struct image_header *header = &analysis->image.header;
    sqlite3_stmt *insert;
    int code = database_prepare(
        analysis->db, "INSERT INTO heap_images VALUES (?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

    if (code)
        return code;
    code = database_insert(
        insert, err, "iiitttzu", analysis->image_id, analysis->process_id, analysis->at_ns,
        header->name[0] ? header->name : NULL,
        name_of(cause_names, sizeof cause_names / sizeof *cause_names, header->cause),
        name_of(method_names, sizeof method_names / sizeof *method_names, header->method),
        header->rss_bytes, header->pause_ns);
    sqlite3_finalize(insert);
    return code;
}

/* The kernel follows links: an executable has the name by which it was started. */
static const char *name_of_file(const struct analysis *analysis, const struct image_range *range)
{
    const char *path = image_file_path(&analysis->image, range);
    struct stat file, executable;

    return analysis->executable && stat(path, &file) == 0
                   && stat(analysis->executable, &executable) == 0
                   && file.st_ino == executable.st_ino && file.st_dev == executable.st_dev
               ? analysis->executable
               : path;
}

/* The module, the variable and the offset of a root; NULL: not a global one. */
static const char *name_root(const struct analysis *analysis, const struct root_edge *root,
                             const char **ret_symbol, uint64_t *ret_offset)
{
    *ret_symbol = NULL;
    *ret_offset = root->address;
    if (root->kind == ROOT_REGISTER)
        return NULL;
    const struct root_area *area = &analysis->areas.areas[root->area];
    *ret_offset = root->address - area->start;
    if (root->kind != ROOT_GLOBAL)
        return NULL;
    const struct image_range *range = &analysis->image.ranges[area->range];
    *ret_symbol = image_dwfl_find_variable(analysis->dwfl, &analysis->image, range, root->address,
                                           ret_offset);
    return name_of_file(analysis, range);
}

static uint32_t tid_of(const struct analysis *analysis, const struct root_edge *root)
{
    if (root->kind == ROOT_REGISTER)
        return analysis->image.threads[root->area].thread.tid;
    if (root->kind == ROOT_STACK || root->kind == ROOT_TLS)
        return analysis->image.threads[analysis->areas.areas[root->area].thread].thread.tid;
    return 0;
}

static const char *function_of(const struct analysis *analysis, const struct root_edge *root)
{
    return root->kind == ROOT_STACK ? stack_functions_find(
               analysis->stacks, analysis->areas.areas[root->area].thread, root->address)
                                    : NULL;
}

static int write_root(const struct analysis *analysis, sqlite3_stmt *insert,
                      const struct root_edge *root, const struct root_totals *totals,
                      struct error *err)
{
    const char *symbol;
    uint64_t offset;
    const char *module = name_root(analysis, root, &symbol, &offset);
    const char *function = function_of(analysis, root);
    char *demangled = symbol ? demangle_full(symbol) : function ? demangle_full(function) : NULL;
    int code = database_insert(insert, err, "iittttuiuu", totals->root_id, analysis->image_id,
                               root_kind_names[root->kind], module,
                               symbol && demangled ? demangled : symbol,
                               function && demangled ? demangled : function, offset,
                               (int64_t)tid_of(analysis, root), totals->bytes, totals->blocks);

    free(demangled);
    return code;
}

static void sum_roots(struct analysis *analysis)
{
    for (uint32_t i = 0; i < analysis->index.n_blocks; i++) {
        const struct block_reach *reach = &analysis->reach[i];

        if (reach->state != BLOCK_HELD)
            continue;
        analysis->roots[reach->root].blocks++;
        analysis->roots[reach->root].bytes += analysis->index.blocks[i].size_bytes;
    }
}

/* Numbers the roots that hold a block on a shortest path, and writes them. */
static int write_roots(struct analysis *analysis, int64_t *last_root_id, struct error *err)
{
    sqlite3_stmt *insert;
    int code = database_prepare(
        analysis->db,
        "INSERT INTO roots (root_id, image_id, kind, module, symbol, function, offset_bytes, thread_id, bytes, blocks)"
        " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT max(thread_id) FROM threads AS t JOIN heap_images AS i USING (process_id)"
        " WHERE i.image_id = ?2 AND t.tid = nullif(?8, 0) AND ifnull(t.start_ns <= i.at_ns, 1)), ?9, ?10",
        &insert, err);

    if (code)
        return code;
    sum_roots(analysis);
    for (size_t i = 0; code == 0 && i < analysis->graph.n_roots; i++) {
        if (analysis->roots[i].blocks == 0)
            continue;
        analysis->roots[i].root_id = ++*last_root_id;
        code = write_root(analysis, insert, &analysis->graph.roots[i], &analysis->roots[i], err);
    }
    sqlite3_finalize(insert);
    return code;
}

static int64_t id_of(const struct analysis *analysis, uint32_t block)
{
    return block == NO_BLOCK ? 0 : analysis->index.blocks[block].allocation_id;
}

static int write_blocks(const struct analysis *analysis, struct error *err)
{
    sqlite3_stmt *insert;
    int code = database_prepare(
        analysis->db,
        "INSERT INTO heap_image_blocks (image_id, allocation_id, state_code, interior_only, root_id,"
        " holder_allocation_id, distance, dominator_allocation_id, retained_bytes)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, err);

    for (uint32_t i = 0; code == 0 && i < analysis->index.n_blocks; i++) {
        const struct block_reach *reach = &analysis->reach[i];
        bool is_held = reach->state == BLOCK_HELD;

        code = database_insert(
            insert, err, "iiiizzizm", analysis->image_id, id_of(analysis, i), (int64_t)reach->state,
            (int64_t)reach->is_interior_only,
            is_held ? (uint64_t)analysis->roots[reach->root].root_id : 0,
            (uint64_t)id_of(analysis, reach->holder), (int64_t)reach->distance,
            (uint64_t)id_of(analysis, analysis->dominators.dominators[i]),
            reach->state == BLOCK_LOST_INDIRECT ? UINT64_MAX : analysis->dominators.retained[i]);
    }
    sqlite3_finalize(insert);
    return code;
}

/* A lost block stands for all that only lost blocks lead to. */
static void fold_lost(struct analysis *analysis)
{
    for (uint32_t i = 0; i < analysis->index.n_blocks; i++)
        if (analysis->reach[i].state != BLOCK_HELD)
            analysis->dominators.retained[analysis->reach[i].root] +=
                analysis->index.blocks[i].size_bytes;
}

/* Blocks of a call site that one root holds; root_id 0: of none, they are lost. */
struct site_part {
    uint32_t call_site_id, is_head; /* is_head: lost, and no lost block leads to them */
    int64_t root_id;
    uint64_t bytes, blocks, retained_bytes;
};

enum {
    SITE_PART_KEY_BYTES = offsetof(struct site_part, bytes)
};

static int sum_parts(const struct analysis *analysis, struct hash_map *parts, struct error *err)
{
    for (uint32_t i = 0; i < analysis->index.n_blocks; i++) {
        const struct live_block_row *block = &analysis->index.blocks[i];
        const struct block_reach *reach = &analysis->reach[i];
        const struct site_part key = {
            .call_site_id = block->call_site_id,
            .is_head = reach->state == BLOCK_LOST,
            .root_id = reach->state == BLOCK_HELD ? analysis->roots[reach->root].root_id : 0};
        struct site_part *part = hash_map_get(parts, &key, SITE_PART_KEY_BYTES, sizeof *part);

        if (!part)
            return error_set(err, ERROR_NOMEM, "no memory for the call sites of a heap image");
        part->bytes += block->size_bytes;
        part->blocks++;
        if (key.is_head)
            part->retained_bytes += analysis->dominators.retained[i];
    }
    return 0;
}

static int by_site(const void *a, const void *b)
{
    const struct site_part *left = a, *right = b;

    if (left->call_site_id != right->call_site_id)
        return left->call_site_id < right->call_site_id ? -1 : 1;
    return (left->root_id > right->root_id) - (left->root_id < right->root_id);
}

static int write_site(const struct analysis *analysis, sqlite3_stmt *insert,
                      const struct site_part *parts, size_t n_parts, struct error *err)
{
    struct site_part head = {0};
    uint64_t lost = 0, held = 0, most = 0;
    int64_t root_id = 0;

    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i].is_head)
            head = parts[i];
        *(parts[i].root_id ? &held : &lost) += parts[i].bytes;
        if (parts[i].root_id && (root_id == 0 || parts[i].bytes > most)) {
            root_id = parts[i].root_id;
            most = parts[i].bytes;
        }
    }
    return database_insert(insert, err, "iiuuuuuz", analysis->image_id,
                           (int64_t)parts->call_site_id, head.bytes, head.blocks,
                           head.retained_bytes, lost, held, (uint64_t)root_id);
}

static int write_sites(const struct analysis *analysis, struct error *err)
{
    struct hash_map map = {0};
    sqlite3_stmt *insert;
    int code = database_prepare(
        analysis->db, "INSERT INTO heap_image_sites VALUES (?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

    if (code)
        return code;
    code = sum_parts(analysis, &map, err);
    struct site_part *parts = map.elements;
    if (map.n)
        qsort(parts, map.n, sizeof *parts, by_site);
    for (size_t i = 0, n; code == 0 && i < map.n; i += n) {
        for (n = 1; i + n < map.n && parts[i + n].call_site_id == parts[i].call_site_id; n++)
            ;
        code = write_site(analysis, insert, &parts[i], n, err);
    }
    hash_map_done(&map);
    sqlite3_finalize(insert);
    return code;
}

struct site_pair {
    uint32_t from, to;
    uint64_t n_references;
};

static int count_references(const struct analysis *analysis, struct hash_map *pairs,
                            struct error *err)
{
    const struct heap_graph *graph = &analysis->graph;
    const struct live_block_row *blocks = analysis->index.blocks;

    for (uint32_t i = 0; i < analysis->index.n_blocks; i++)
        for (uint64_t j = graph->first_edges[i]; j < graph->first_edges[i + 1]; j++) {
            const uint32_t key[2] = {blocks[i].call_site_id,
                                     blocks[heap_edge_block(graph->edges[j])].call_site_id};
            struct site_pair *pair = hash_map_get(pairs, key, sizeof key, sizeof *pair);

            if (!pair)
                return error_set(err, ERROR_NOMEM, "no memory for the pointers of a heap image");
            pair->n_references++;
        }
    return 0;
}

static int write_references(const struct analysis *analysis, struct error *err)
{
    struct hash_map pairs = {0};
    sqlite3_stmt *insert;
    int code = database_prepare(analysis->db, "INSERT INTO site_references VALUES (?, ?, ?, ?)",
                                &insert, err);

    if (code)
        return code;
    code = count_references(analysis, &pairs, err);
    for (size_t i = 0; code == 0 && i < pairs.n; i++) {
        const struct site_pair *pair = &((const struct site_pair *)pairs.elements)[i];

        code = database_insert(insert, err, "iiiu", analysis->image_id, (int64_t)pair->from,
                               (int64_t)pair->to, pair->n_references);
    }
    hash_map_done(&pairs);
    sqlite3_finalize(insert);
    return code;
}

/* ---- one image ---- */

static int write_rows(struct analysis *analysis, int64_t *last_root_id, struct error *err)
{
    int code = write_image(analysis, err);

    analysis->roots = calloc(analysis->graph.n_roots + 1, sizeof *analysis->roots);
    if (code == 0 && !analysis->roots)
        code = error_set(err, ERROR_NOMEM, "no memory for the roots of a heap image");
    if (code == 0)
        code = write_roots(analysis, last_root_id, err);
    if (code == 0)
        code = write_blocks(analysis, err);
    if (code == 0)
        code = write_sites(analysis, err);
    if (code == 0)
        code = write_references(analysis, err);
    return code;
}

static int analyse(struct analysis *analysis, int64_t *last_root_id, struct error *err)
{
    int code = block_index_read(analysis->db, analysis->process_id, analysis->at_ns,
                                &analysis->index, err);

    if (code == 0)
        code = root_areas_make(analysis->db, analysis->process_id, analysis->at_ns,
                               analysis->is_partial, &analysis->image, &analysis->index,
                               &analysis->areas, err);
    analysis->dwfl = image_dwfl_new(&analysis->image);
    if (analysis->dwfl)
        analysis->stacks = stack_functions_new(&analysis->image, analysis->dwfl);
    if (code == 0 && !analysis->stacks)
        code = error_set(err, ERROR_NOMEM, "no memory for the stacks of a heap image");
    if (code == 0)
        code = heap_graph_make(&analysis->image, &analysis->index, &analysis->areas,
                               analysis->stacks, &analysis->graph, err);
    if (code == 0)
        code = reachability_find(&analysis->index, &analysis->graph, &analysis->reach, err);
    if (code == 0)
        code = dominators_find(&analysis->index, &analysis->graph, &analysis->dominators, err);
    if (code)
        return code;
    fold_lost(analysis);
    return write_rows(analysis, last_root_id, err);
}

static void done(struct analysis *analysis)
{
    free(analysis->roots);
    free(analysis->reach);
    dominators_done(&analysis->dominators);
    heap_graph_done(&analysis->graph);
    stack_functions_free(analysis->stacks);
    dwfl_end(analysis->dwfl);
    root_areas_done(&analysis->areas);
    block_index_done(&analysis->index);
    image_file_close(&analysis->image);
}

static int check_process(const struct image_file *image, const struct definitions_process *process,
                         const char *path, struct error *err)
{
    return image->header.run_id == process->run_id
               ? 0
               : error_set(err, ERROR_FORMAT,
                           "heap image '%s' belongs to another recording; it is ignored", path);
}

static void note_refusal(struct heap_images_result *result, const struct error *err)
{
    if (result->n_refused++ == 0)
        (void)snprintf(result->refusal, sizeof result->refusal, "%.*s",
                       (int)sizeof result->refusal - 1, err->text);
}

struct writer {
    sqlite3 *db;
    uint64_t origin_ns;
    const struct heap_images_options *options;
    struct heap_images_result *result;
    int64_t last_root_id;
};

static struct heap_graph graph_of(const struct writer *writer)
{
    return (struct heap_graph){.ignored = writer->options->ignored,
                               .n_ignored = writer->options->n_ignored};
}

static int write_one(struct writer *writer, const struct definitions_process *process,
                     int64_t process_id, const char *path, struct error *err)
{
    struct analysis analysis = {.db = writer->db,
                                .graph = graph_of(writer),
                                .process_id = process_id,
                                .image_id = writer->result->n_images + 1,
                                .is_partial = definitions_is_partial(process),
                                .executable = process->executable};
    int code = image_file_open(path, &analysis.image, err);

    if (code == 0)
        code = check_process(&analysis.image, process, path, err);
    if (code == 0) {
        uint64_t at = analysis.image.header.monotonic_ns;
        analysis.at_ns = (int64_t)(at > writer->origin_ns ? at - writer->origin_ns : 0);
        code = analyse(&analysis, &writer->last_root_id, err);
        writer->result->n_images += code == 0;
    }
    done(&analysis);
    return code;
}

/* ---- cores ---- */

/* The file is mapped at the same place as in the recorded process: no two runs agree in that. */
static bool has_module(const struct image_file *image, const char *path, uint64_t start,
                       uint64_t n_bytes)
{
    for (size_t i = 0; i < image->n_ranges; i++) {
        const struct image_range *range = &image->ranges[i];

        if (range->start >= start && range->start - start < n_bytes
            && strcmp(image_file_path(image, range), path) == 0)
            return true;
    }
    return false;
}

static int check_modules(const struct analysis *analysis, const char *path, struct error *err)
{
    bool is_any = false, is_same = false;
    sqlite3_stmt *row;
    int step = SQLITE_DONE;
    int code = database_prepare(analysis->db,
                                "SELECT mapped_path, load_address, size_bytes FROM modules"
                                " WHERE process_id = ? AND load_address > 0 AND size_bytes > 0"
                                " AND unloaded_ns IS NULL AND mapped_path IS NOT NULL",
                                &row, err);

    if (code)
        return code;
    sqlite3_bind_int64(row, 1, analysis->process_id);
    while (!is_same && (step = sqlite3_step(row)) == SQLITE_ROW) {
        is_any = true;
        is_same = has_module(&analysis->image, (const char *)sqlite3_column_text(row, 0),
                             (uint64_t)sqlite3_column_int64(row, 1),
                             (uint64_t)sqlite3_column_int64(row, 2));
    }
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        code = database_error(analysis->db, err);
    sqlite3_finalize(row);
    return code || is_same || !is_any
               ? code
               : error_set(err, ERROR_FORMAT,
                           "core '%s' is of another run: no file is mapped where it was in process "
                           "%u of the recording; it is ignored",
                           path, (unsigned)analysis->image.header.pid);
}

/* A process that goes on after gcore is stopped until the core is written. */
static int find_process(struct analysis *analysis, const char *path, uint64_t unix_ns,
                        struct error *err)
{
    sqlite3_stmt *row;
    int code = database_prepare(analysis->db,
                                "SELECT process_id, CASE WHEN ?2 > start_unix_ns THEN"
                                " min(end_ns, start_ns + ?2 - start_unix_ns) ELSE end_ns END"
                                " FROM processes WHERE pid = ?1 ORDER BY process_id DESC LIMIT 1",
                                &row, err);

    if (code)
        return code;
    sqlite3_bind_int64(row, 1, (int64_t)analysis->image.header.pid);
    sqlite3_bind_int64(row, 2, (int64_t)unix_ns);
    if (sqlite3_step(row) == SQLITE_ROW) {
        analysis->process_id = sqlite3_column_int64(row, 0);
        analysis->at_ns = sqlite3_column_int64(row, 1);
    } else {
        code = error_set(err, ERROR_FORMAT,
                         "core '%s' is of process %u, which is not in the recording; it is ignored",
                         path, (unsigned)analysis->image.header.pid);
    }
    sqlite3_finalize(row);
    return code ? code : check_modules(analysis, path, err);
}

static int write_core(struct writer *writer, const char *path, struct error *err)
{
    struct analysis analysis = {
        .db = writer->db, .graph = graph_of(writer), .image_id = writer->result->n_images + 1};
    uint64_t unix_ns = 0;
    int code = core_file_open(path, &analysis.image, &unix_ns, err);

    if (code == 0)
        code = find_process(&analysis, path, unix_ns, err);
    if (code == 0)
        code = analyse(&analysis, &writer->last_root_id, err);
    writer->result->n_images += code == 0;
    done(&analysis);
    return code;
}

/* A damaged image is undone and left out. process: NULL for a core. */
static int try_one(struct writer *writer, const struct definitions_process *process,
                   int64_t process_id, const char *path, struct error *err)
{
    int code = database_execute(writer->db, "SAVEPOINT heap_image", err);

    if (code)
        return code;
    code =
        process ? write_one(writer, process, process_id, path, err) : write_core(writer, path, err);
    if (code == ERROR_FORMAT || code == ERROR_VERSION || code == ERROR_IO) {
        note_refusal(writer->result, err);
        code = database_execute(writer->db, "ROLLBACK TO heap_image", err);
    }
    return code ? code : database_execute(writer->db, "RELEASE heap_image", err);
}

int heap_images_write(sqlite3 *db, const struct definitions *definitions, uint64_t origin_ns,
                      const struct heap_images_options *options, struct heap_images_result *ret,
                      struct error *err)
{
    struct writer writer = {.db = db, .origin_ns = origin_ns, .options = options, .result = ret};
    int code = 0;

    *ret = (struct heap_images_result){0};
    for (size_t id = 1; code == 0 && id <= definitions->n_processes; id++) {
        const struct definitions_process *process = &definitions->processes[id];
        char *path = NULL;

        for (unsigned n = 1; code == 0 && process->log_path && !process->is_left_out; n++) {
            if (asprintf(&path, "%s.image%u", process->log_path, n) < 0)
                return error_set(err, ERROR_NOMEM, "no memory for the name of a heap image");
            bool is_there = access(path, F_OK) == 0;
            if (is_there)
                code = try_one(&writer, process, (int64_t)id, path, err);
            free(path);
            if (!is_there)
                break;
        }
    }
    return code || !options->core ? code : try_one(&writer, NULL, 0, options->core, err);
}
