/* SPDX-License-Identifier: MIT */
#include "importer/symbols/symbols.h"

#include "importer/symbols/symbol_jobs.h"
#include "importer/symbols/symbol_rows.h"
#include "importer/write/database.h"
#include "lib/base/dynamic_array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_OTHER_PATHS = 64 /* limit of tried paths per object */
};

struct symbols {
    sqlite3 *db;
    struct error *err;
    struct symbol_job *jobs; /* sorted by object_id */
    size_t n_jobs, n_jobs_allocated;
    struct symbol_frame *frames; /* sorted by object, offset, frame_id */
    size_t n_frames, n_frames_allocated;
    struct intern kept_names; /* of frames outside any object */
};

char *symbols_default_cache_dir(void)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;
    int length = -1;

    if (cache && cache[0] == '/')
        length = asprintf(&path, "%s/mtrace", cache);
    else if (home && home[0] == '/'
             && access(home, W_OK) == 0) /* service accounts may have no home */
        length = asprintf(&path, "%s/.cache/mtrace", home);
    return length < 0 ? NULL : path;
}

static int no_memory(struct symbols *symbols)
{
    return error_set(symbols->err, ERROR_NOMEM, "no memory for the symbols of %zu frames",
                     symbols->n_frames);
}

static char *copy_column(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);

    return text ? strdup(text) : NULL;
}

static int read_job(struct symbols *symbols, sqlite3_stmt *statement)
{
    struct symbol_job *jobs = dynamic_array_reserve(symbols->jobs, &symbols->n_jobs_allocated,
                                                    symbols->n_jobs + 1, sizeof(*jobs));
    struct symbol_job *job;

    if (!jobs)
        return no_memory(symbols);
    symbols->jobs = jobs;
    job = &jobs[symbols->n_jobs++];
    job->object_id = sqlite3_column_int64(statement, 0);
    job->path = copy_column(statement, 1);
    job->build_id = copy_column(statement, 2);
    job->architecture = copy_column(statement, 3);
    return job->path ? 0 : no_memory(symbols);
}

static int end_read(struct symbols *symbols, sqlite3_stmt *statement, int step, int status)
{
    if (status == 0 && step != SQLITE_DONE)
        status = database_error(symbols->db, symbols->err);
    sqlite3_finalize(statement);
    return status;
}

typedef int job_row_fn(struct symbols *symbols, struct symbol_job *job, sqlite3_stmt *statement);

/* Calls on_row for each row; the first column is the object of the job. */
static int read_job_rows(struct symbols *symbols, const char *sql, job_row_fn *on_row)
{
    sqlite3_stmt *statement;
    size_t job = 0;
    int step = SQLITE_DONE;
    int status = database_prepare(symbols->db, sql, &statement, symbols->err);

    if (status)
        return status;
    while (status == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t object_id = sqlite3_column_int64(statement, 0);
        while (job < symbols->n_jobs && symbols->jobs[job].object_id < object_id)
            job++;
        if (job < symbols->n_jobs && symbols->jobs[job].object_id == object_id)
            status = on_row(symbols, &symbols->jobs[job], statement);
    }
    return end_read(symbols, statement, step, status);
}

static int add_part(struct symbols *symbols, struct symbol_job *job, sqlite3_stmt *statement)
{
    const void *bytes = sqlite3_column_blob(statement, 2);
    int n_bytes = sqlite3_column_bytes(statement, 2);

    return kept_file_add(&job->kept, (uint64_t)sqlite3_column_int64(statement, 1), bytes,
                         bytes ? (size_t)n_bytes : 0)
               ? 0
               : no_memory(symbols);
}

static int add_path(struct symbols *symbols, struct symbol_job *job, sqlite3_stmt *statement)
{
    size_t n = 0;
    char **paths;

    while (job->other_paths && job->other_paths[n])
        n++;
    if (n >= MAX_OTHER_PATHS)
        return 0;
    paths = realloc(job->other_paths, (n + 2) * sizeof(*paths));
    if (!paths)
        return no_memory(symbols);
    job->other_paths = paths;
    paths[n] = copy_column(statement, 1);
    paths[n + 1] = NULL;
    return paths[n] ? 0 : no_memory(symbols);
}

static int read_files(struct symbols *symbols)
{
    int status = read_job_rows(
        symbols, "SELECT object_id, file_offset, bytes FROM object_parts ORDER BY 1, 2", add_part);

    for (size_t i = 0; i < symbols->n_jobs; i++)
        kept_file_end(&symbols->jobs[i].kept);
    if (status)
        return status;
    return read_job_rows(
        symbols,
        "SELECT DISTINCT m.object_id, m.mapped_path FROM modules AS m JOIN objects AS o USING (object_id)"
        " WHERE m.mapped_path <> o.path ORDER BY m.object_id, m.module_id",
        add_path);
}

static int read_jobs(struct symbols *symbols)
{
    sqlite3_stmt *statement;
    int step = SQLITE_DONE;
    int status =
        database_prepare(symbols->db,
                         "SELECT object_id, ifnull(path, ''), build_id, architecture FROM objects"
                         " WHERE object_id IN (SELECT object_id FROM frames) ORDER BY 1",
                         &statement, symbols->err);

    if (status)
        return status;
    while (status == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW)
        status = read_job(symbols, statement);
    return end_read(symbols, statement, step, status);
}

static int add_frame(struct symbols *symbols, struct symbol_frame frame)
{
    struct symbol_frame *frames = dynamic_array_reserve(
        symbols->frames, &symbols->n_frames_allocated, symbols->n_frames + 1, sizeof(*frames));

    if (!frames)
        return no_memory(symbols);
    symbols->frames = frames;
    frames[symbols->n_frames++] = frame;
    return 0;
}

static int add_position(struct symbols *symbols, struct symbol_job *job, sqlite3_stmt *statement)
{
    size_t position = job->n_positions;
    struct symbolizer_position *positions =
        dynamic_array_reserve(job->positions, &job->n_allocated, position + 1, sizeof(*positions));

    if (!positions)
        return no_memory(symbols);
    job->positions = positions;
    job->n_positions++;
    positions[position] =
        (struct symbolizer_position){.offset = (uint64_t)sqlite3_column_int64(statement, 2),
                                     .is_exact = sqlite3_column_int(statement, 3) != 0};
    return add_frame(symbols, (struct symbol_frame){.frame_id = sqlite3_column_int64(statement, 0),
                                                    .job = job,
                                                    .position = (uint32_t)position});
}

/* SQLite's integers are signed, offsets are not: the upper half must sort last. */
static int read_frames(struct symbols *symbols)
{
    sqlite3_stmt *statement;
    size_t job = 0;
    int step = SQLITE_DONE;
    int status = database_prepare(
        symbols->db,
        "SELECT frame_id, o.object_id, CAST(object_offset AS INTEGER) AS at, is_exact"
        " FROM frames AS f JOIN objects AS o ON o.object_id = f.object_id"
        " ORDER BY o.object_id, at < 0, at, is_exact <> 0, frame_id",
        &statement, symbols->err);

    if (status)
        return status;
    while (status == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        while (job < symbols->n_jobs
               && symbols->jobs[job].object_id < sqlite3_column_int64(statement, 1))
            job++;
        if (job < symbols->n_jobs)
            status = add_position(symbols, &symbols->jobs[job], statement);
    }
    return end_read(symbols, statement, step, status);
}

static int keep_name(struct symbols *symbols, sqlite3_stmt *statement)
{
    const char *name = (const char *)sqlite3_column_text(statement, 1);
    int64_t number = name ? intern_add(&symbols->kept_names, name, strlen(name)) : SYMBOL_NONE;

    if (number < 0)
        return no_memory(symbols);
    return add_frame(symbols, (struct symbol_frame){.frame_id = sqlite3_column_int64(statement, 0),
                                                    .job = NULL,
                                                    .position = (uint32_t)number});
}

static int read_frames_outside(struct symbols *symbols)
{
    sqlite3_stmt *statement;
    int step = SQLITE_DONE;
    int status = database_prepare(
        symbols->db,
        "SELECT f.frame_id, g.raw_name FROM frames AS f "
        "LEFT JOIN objects AS o ON o.object_id = f.object_id "
        "LEFT JOIN frame_lines AS l ON l.frame_id = f.frame_id AND l.inline_level = 0 "
        "LEFT JOIN functions AS g ON g.function_id = l.function_id WHERE o.object_id IS NULL",
        &statement, symbols->err);

    if (status)
        return status;
    while (status == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW)
        status = keep_name(symbols, statement);
    return end_read(symbols, statement, step, status);
}

static int compare_frames(const void *a, const void *b)
{
    const struct symbol_frame *x = a;
    const struct symbol_frame *y = b;

    return (x->frame_id > y->frame_id) - (x->frame_id < y->frame_id);
}

/* Sorts frames and removes duplicates, which an edited database may have. */
static void sort_frames(struct symbols *symbols)
{
    size_t n = 0;

    if (symbols->n_frames)
        qsort(symbols->frames, symbols->n_frames, sizeof(*symbols->frames), compare_frames);
    for (size_t i = 0; i < symbols->n_frames; i++) {
        if (n == 0 || symbols->frames[n - 1].frame_id != symbols->frames[i].frame_id)
            symbols->frames[n++] = symbols->frames[i];
    }
    symbols->n_frames = n;
}

static int read_all(struct symbols *symbols)
{
    int status = read_jobs(symbols);

    if (status == 0)
        status = read_files(symbols);
    if (status == 0)
        status = read_frames(symbols);
    if (status == 0)
        status = read_frames_outside(symbols);
    sort_frames(symbols);
    return status;
}

int symbols_write(sqlite3 *db, const struct symbols_options *options, struct error *err)
{
    struct symbols symbols = {.db = db, .err = err};
    int status = read_all(&symbols);

    if (status == 0)
        status = symbol_jobs_run(symbols.jobs, symbols.n_jobs, options, err);
    if (status == 0)
        status = symbol_rows_write(db, symbols.jobs, symbols.n_jobs, symbols.frames,
                                   symbols.n_frames, &symbols.kept_names, err);
    for (size_t i = 0; i < symbols.n_jobs; i++)
        symbol_job_done(&symbols.jobs[i]);
    free(symbols.jobs);
    free(symbols.frames);
    intern_done(&symbols.kept_names);
    return status;
}
