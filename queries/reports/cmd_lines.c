/* SPDX-License-Identifier: MIT */
/*
 * lines FILE: what the lines of a source file allocate: themselves (the line is the call site) and
 * in total (the line is anywhere on the stack, counted once). If the source can be read, people get
 * its text around the lines with numbers.
 */
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "queries/core/computed_rows.h"
#include "queries/core/query.h"
#include "queries/core/stack_weights.h"
#include "queries/reports/reports.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONTEXT_LINES = 3,
    MAX_LINE = 10000000
};

struct line_sum {
    int64_t own_bytes, own_blocks;
    int64_t total_bytes, total_blocks;
    size_t last_stack; /* the last stack that was counted, from 1 */
};

/* A source file whose path matches. */
struct file_sum {
    int64_t source_id;
    const char *path;
    struct line_sum *lines; /* by number */
    int64_t n_lines;
    struct file_sum *next;
};

static bool is_path(const char *path, const char *wanted)
{
    size_t length = path ? strlen(path) : 0;
    size_t n = strlen(wanted);

    if (!path || length < n || strcmp(path + length - n, wanted) != 0)
        return false;
    return length == n || path[length - n - 1] == '/';
}

static struct file_sum *find_file(struct file_sum *files, int64_t source_id)
{
    while (files && files->source_id != source_id)
        files = files->next;
    return files;
}

static int add_file(struct file_sum **files, const struct stack_position *position,
                    struct error *err)
{
    struct file_sum *file = calloc(1, sizeof(*file));

    if (!file)
        return error_set(err, ERROR_NOMEM, "no memory for '%s'", position->source);
    file->source_id = position->source_id;
    file->path = position->source;
    while (*files)
        files = &(*files)->next;
    *files = file;
    return 0;
}

static int find_files(const struct stack_weights *weights, const char *wanted,
                      struct file_sum **files, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < weights->n_positions; i++) {
        const struct stack_position *position = &weights->positions[i];
        struct file_sum *file = find_file(*files, position->source_id);

        if (!file && is_path(position->source, wanted)) {
            rc = add_file(files, position, err);
            file = rc == 0 ? find_file(*files, position->source_id) : NULL;
        }
        if (file && position->line >= file->n_lines && position->line < MAX_LINE)
            file->n_lines = position->line + 1;
    }
    for (struct file_sum *file = *files; rc == 0 && file; file = file->next) {
        file->lines = calloc((size_t)file->n_lines + 1, sizeof(*file->lines));
        if (!file->lines)
            rc = error_set(err, ERROR_NOMEM, "no memory for the lines of '%s'", file->path);
    }
    if (rc == 0 && !*files)
        return error_set(err, ERROR_NOT_FOUND,
                         "no source file is called '%s'; give its name or the end of its path",
                         wanted);
    return rc;
}

static struct line_sum *find_line(struct file_sum *files, int64_t source_id, int64_t line)
{
    struct file_sum *file = source_id ? find_file(files, source_id) : NULL;

    return file && line > 0 && line < file->n_lines ? &file->lines[line] : NULL;
}

static int sum_totals(const struct stack_weights *weights, struct file_sum *files,
                      struct error *err)
{
    const struct stack_position **positions =
        reallocarray(NULL, weights->max_positions + 1, sizeof(const struct stack_position *));
    int rc = 0;

    if (!positions)
        return error_set(err, ERROR_NOMEM, "no memory for a stack");
    for (size_t i = 0; rc == 0 && i < weights->n; i++) {
        size_t n = stack_weights_positions(weights, weights->list[i].backtrace_id, positions);

        for (size_t p = 0; p < n; p++) {
            struct line_sum *line = find_line(files, positions[p]->source_id, positions[p]->line);
            if (!line || line->last_stack == i + 1)
                continue;
            line->last_stack = i + 1;
            saturating_grow(&line->total_bytes, weights->list[i].bytes);
            saturating_grow(&line->total_blocks, weights->list[i].blocks);
        }
        rc = rundb_go_on(weights->database, err);
    }
    free(positions);
    return rc;
}

/* Weights and stacks come in the same order. */
static int sum_own(const struct query *query, const struct stack_weights *weights,
                   struct file_sum *files, struct error *err)
{
    struct sqlite3_stmt *stmt;
    size_t next = 0;
    int rc = rundb_prepare(
        &query->database,
        "SELECT b.backtrace_id, c.source_id, c.line FROM backtraces AS b"
        " JOIN call_sites AS c ON c.call_site_id = b.call_site_id ORDER BY b.backtrace_id",
        &stmt, err);

    while (rc == 0 && (rc = rundb_step(&query->database, stmt, err)) == 1) {
        struct line_sum *line =
            find_line(files, sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2));
        rc = 0;
        while (next < weights->n
               && weights->list[next].backtrace_id < sqlite3_column_int64(stmt, 0))
            next++;
        if (!line || next == weights->n
            || weights->list[next].backtrace_id != sqlite3_column_int64(stmt, 0))
            continue;
        saturating_grow(&line->own_bytes, weights->list[next].bytes);
        saturating_grow(&line->own_blocks, weights->list[next].blocks);
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- rows: for programs, or without the source ---- */

static void add_rows(const struct file_sum *file, struct computed_rows *rows)
{
    for (int64_t i = 0; i < file->n_lines; i++) {
        const struct line_sum *line = &file->lines[i];
        if (line->total_blocks == 0 && line->own_blocks == 0)
            continue;
        computed_rows_begin(rows);
        computed_rows_add_int64(rows, line->own_bytes);
        computed_rows_add_int64(rows, line->own_blocks);
        computed_rows_add_int64(rows, line->total_bytes);
        computed_rows_add_int64(rows, line->total_blocks);
        computed_rows_add_text(rows, file->path);
        computed_rows_add_int64(rows, i);
        computed_rows_end(rows);
    }
}

static int show_rows(const struct file_sum *files, struct query *query, struct error *err)
{
    struct computed_rows rows;
    int rc;

    computed_rows_init(&rows, "own_bytes,own_blocks,total_bytes,total_blocks,source,line");
    for (const struct file_sum *file = files; file; file = file->next)
        add_rows(file, &rows);
    rc = computed_rows_show(&rows, query, err);
    computed_rows_done(&rows);
    return rc;
}

/* ---- listing with the source ---- */

static bool has_numbers(const struct file_sum *file, int64_t number)
{
    return number > 0 && number < file->n_lines
           && (file->lines[number].total_blocks || file->lines[number].own_blocks);
}

static bool is_near(const struct file_sum *file, int64_t number)
{
    for (int64_t i = number - CONTEXT_LINES; i <= number + CONTEXT_LINES; i++) {
        if (has_numbers(file, i))
            return true;
    }
    return false;
}

static void put_source_text(FILE *out, const char *text)
{
    for (size_t n; *text && *text != '\n' && *text != '\r'; text += n) {
        n = utf8_length(text);
        if (*text == '\t' || (n > 0 && utf8_is_plain(text, n)))
            (void)fwrite(text, 1, n, out);
        else
            (void)putc('?', out);
        n = n ? n : 1;
    }
    (void)putc('\n', out);
}

static void print_line(const struct query *query, const struct file_sum *file, int64_t number,
                       const char *text)
{
    static const char *const none = "";
    char own[UNITS_TEXT_BYTES];
    char total[UNITS_TEXT_BYTES];
    const struct line_sum *line = has_numbers(file, number) ? &file->lines[number] : NULL;
    bool is_by_blocks = query->options->is_by_blocks;

    if (line && is_by_blocks) {
        (void)units_format_count(line->own_blocks, own);
        (void)units_format_count(line->total_blocks, total);
    } else if (line) {
        (void)units_format_bytes(line->own_bytes, own);
        (void)units_format_bytes(line->total_bytes, total);
    }
    (void)fprintf(query->out, "%10s %10s %6lld  ", line ? own : none, line ? total : none,
                  (long long)number);
    put_source_text(query->out, text);
}

static void print_source(const struct query *query, const struct file_sum *file, FILE *source,
                         enum stack_measure measure)
{
    char *text = NULL;
    size_t capacity = 0;
    bool is_gap = false;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s", file->path);
    utf8_clean(path);
    (void)fprintf(query->out, "%s: %s\n%10s %10s %6s\n", path, stack_measure_title(query, measure),
                  "own", "total", "line");
    for (int64_t number = 1; getline(&text, &capacity, source) >= 0; number++) {
        if (!is_near(file, number)) {
            is_gap = true;
            continue;
        }
        if (is_gap)
            (void)fputs("\n", query->out);
        is_gap = false;
        print_line(query, file, number, text);
    }
    free(text);
}

/* The source as the debug information names it, else as it was asked for. */
static FILE *open_source(const struct file_sum *file, const char *asked)
{
    FILE *source = fopen(file->path, "re");

    return source ? source : fopen(asked, "re");
}

static int show(struct file_sum *files, struct query *query, enum stack_measure measure,
                struct error *err)
{
    const struct query_options *options = query->options;
    bool is_plain = query->style.format == RENDER_TABLE && !options->sort_by && !options->fail_if
                    && !options->is_sql_shown && options->count < 0;
    FILE *source = is_plain && !options->is_untrusted && !files->next
                       ? open_source(files, options->arguments[0])
                       : NULL;

    if (!source)
        return show_rows(files, query, err);
    print_source(query, files, source, measure);
    (void)fclose(source);
    return 0;
}

int cmd_lines_run(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    struct stack_weights weights = {0};
    struct file_sum *files = NULL;
    enum stack_measure measure;
    int rc = stack_measure_of(query, &measure, err);

    if (rc == 0)
        rc = stack_weights_load(&weights, query, options->process_id, measure, err);
    if (rc == 0)
        rc = find_files(&weights, options->arguments[0], &files, err);
    if (rc == 0)
        rc = sum_totals(&weights, files, err);
    if (rc == 0)
        rc = sum_own(query, &weights, files, err);
    if (rc == 0)
        rc = show(files, query, measure, err);
    for (struct file_sum *next; files; files = next) {
        next = files->next;
        free(files->lines);
        free(files);
    }
    stack_weights_done(&weights);
    return rc;
}
