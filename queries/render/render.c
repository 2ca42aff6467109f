/* SPDX-License-Identifier: MIT */
#include "queries/render/render.h"

#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "lib/base/utf8.h"
#include "queries/db/rundb.h"
#include "queries/render/caller_line.h"
#include "queries/render/column.h"
#include "queries/render/stack_text.h"
#include "queries/render/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    CELL_BYTES = 1024,
    NO_COLUMN = -1,
    N_STACKS = 3,
    MAX_CALLERS = 32 /* rows with the line of a caller */
};

static const struct {
    const char *name;
    const char *title; /* a line above the stack; NULL: none */
} stack_columns[N_STACKS] = {
    {"stack", NULL}, {"alloc_stack", "  allocated:"}, {"first_free_stack", "  freed first:"}};

int render_format_parse(const char *text, enum render_format *ret_format, struct error *err)
{
    static const char *const names[] = {"table", "json", "csv"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_format = (enum render_format)i;
            return 0;
        }
    }
    return error_set(err, ERROR_USAGE, "'%s' is not a format; write table, json or csv", text);
}

/* ---- table ---- */

/* The indexes of columns that a table handles together. */
struct layout {
    struct where_columns where;
    int process;
    int site;
    int stack_id;
    int heaviest; /* number of stacks that a row is the sum of, after the weight of the shown one */
    const struct rundb *database; /* to find lines of callers; NULL: do not */
    int stacks[N_STACKS];         /* of stack_columns; shown below the row, position by position */
};

static int find_column(struct sqlite3_stmt *stmt, const char *name)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        if (strcmp(sqlite3_column_name(stmt, i), name) == 0)
            return i;
    }
    return NO_COLUMN;
}

static bool is_stack(const struct layout *layout, int column)
{
    for (int i = 0; i < N_STACKS; i++) {
        if (column == layout->stacks[i])
            return true;
    }
    return false;
}

static bool is_hidden(const struct layout *layout, int column)
{
    return column == layout->where.source || column == layout->where.line
           || column == layout->where.module || column == layout->process
           || is_stack(layout, column)
           || (layout->heaviest >= 0
               && (column == layout->heaviest || column == layout->heaviest - 1));
}

static bool is_any_shown(const struct layout *layout, int n_columns)
{
    for (int i = 0; i < n_columns; i++) {
        if (!is_hidden(layout, i))
            return true;
    }
    return false;
}

static struct layout layout_of(struct sqlite3_stmt *stmt, const struct render_style *style)
{
    const struct where_columns nowhere = {NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN};
    struct layout layout = {.where = nowhere,
                            .process = NO_COLUMN,
                            .site = find_column(stmt, "call_site_id"),
                            .stack_id = find_column(stmt, "backtrace_id"),
                            .heaviest = NO_COLUMN,
                            .stacks = {NO_COLUMN, NO_COLUMN, NO_COLUMN}};
    const struct layout plain = layout;
    struct where_columns where = {find_column(stmt, "function"), find_column(stmt, "source"),
                                  find_column(stmt, "line"), find_column(stmt, "module")};

    for (int i = 0; i < N_STACKS; i++)
        layout.stacks[i] = find_column(stmt, stack_columns[i].name);
    /* as --stacks adds them */
    if (layout.stacks[0] >= 0 && layout.stack_id >= 0
        && find_column(stmt, "heaviest_of") == layout.stacks[0] + 2)
        layout.heaviest = layout.stacks[0] + 2;
    if (!style->is_wide && where.function >= 0 && where.source >= 0 && where.line >= 0
        && where.module >= 0)
        layout.where = where;
    if (!style->is_wide && !style->has_process)
        layout.process = find_column(stmt, "process_id");
    /* Keep at least one cell: a column that the user selected alone is shown unchanged. */
    return is_any_shown(&layout, sqlite3_column_count(stmt)) ? layout : plain;
}

/* The first column of bytes is what the table is about: it is never omitted. */
static void add_headings(struct table *table, struct sqlite3_stmt *stmt,
                         const struct layout *layout, const struct render_style *style)
{
    char heading[COLUMN_HEADING_BYTES];
    bool has_bytes = false;

    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        const char *name = sqlite3_column_name(stmt, i);
        enum table_rank rank = column_rank(name);

        if (is_hidden(layout, i))
            continue;
        if (i == layout->where.function)
            table_add_column(table, "where", false);
        else
            table_add_column(table, style->has_sql_names ? name : column_heading(name, heading),
                             column_is_number(column_unit_of(name)));
        if (rank == TABLE_RANK_BYTES && !has_bytes) {
            has_bytes = true;
            rank = TABLE_RANK_KEPT;
        }
        table_rank(table, table->n_columns - 1, style->has_sql_names ? TABLE_RANK_KEPT : rank);
    }
}

/* A column with text in any row is not numeric, whatever its name says. */
static void add_text_column(struct table *table, size_t column)
{
    table_align_left(table, column);
    if (table->ranks[column] == TABLE_RANK_NUMBER)
        table_rank(table, column, TABLE_RANK_TEXT);
}

static void add_where(struct table *table, struct sqlite3_stmt *row, const struct layout *layout)
{
    char from[CELL_BYTES] = "";

    if (layout->database && layout->site >= 0
        && sqlite3_column_type(row, layout->where.line) == SQLITE_NULL)
        caller_line_append(layout->database, sqlite3_column_int64(row, layout->site), from,
                           sizeof(from));
    stack_text_add_place(table, row, &layout->where, from);
}

static void add_heaviest(struct table *table, struct sqlite3_stmt *row, const struct layout *layout,
                         bool is_wide)
{
    char text[CELL_BYTES];
    enum column_unit unit;
    const char *name;

    if (layout->heaviest < 0 || sqlite3_column_int64(row, layout->heaviest) < 2)
        return;
    name = sqlite3_column_name(row, layout->heaviest - 1);
    unit = column_unit_of(name);
    column_format(row, layout->heaviest - 1, unit, is_wide, text, sizeof(text));
    /* The row may be the sum of another measure: growth, pinned pages. */
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                   unit == COLUMN_COUNT ? " blocks" : "",
                   strstr(name, "allocated") ? " allocated" : "");
    stack_text_add_heaviest(table, sqlite3_column_int64(row, layout->stack_id), text,
                            sqlite3_column_int64(row, layout->heaviest));
}

static void add_row(struct table *table, struct sqlite3_stmt *row, const struct layout *layout,
                    bool is_wide)
{
    char text[CELL_BYTES];
    size_t cell = 0;

    for (int i = 0; i < sqlite3_column_count(row); i++) {
        if (is_hidden(layout, i))
            continue;
        if (sqlite3_column_type(row, i) == SQLITE_TEXT)
            add_text_column(table, cell);
        cell++;
        if (i == layout->where.function) {
            add_where(table, row, layout);
            continue;
        }
        column_format(row, i, column_unit_of(sqlite3_column_name(row, i)), is_wide, text,
                      sizeof(text));
        table_add_cell(table, text);
    }
    table_end_row(table);
    add_heaviest(table, row, layout, is_wide);
    for (int i = 0; i < N_STACKS; i++) {
        if (layout->stacks[i] < 0 || sqlite3_column_type(row, layout->stacks[i]) == SQLITE_NULL)
            continue;
        if (stack_columns[i].title)
            table_add_line(table, stack_columns[i].title);
        stack_text_add(table, rundb_text(row, layout->stacks[i]), is_wide);
    }
}

static int render_table(const struct rundb *database, struct sqlite3_stmt *stmt,
                        const struct render_style *style, int64_t max_rows, FILE *out,
                        int64_t *n_rows, struct error *err)
{
    struct layout layout = layout_of(stmt, style);
    struct table table;
    int rc = 0;

    table_init(&table);
    add_headings(&table, stmt, &layout, style);
    while ((max_rows < 0 || *n_rows < max_rows) && (rc = rundb_step(database, stmt, err)) == 1) {
        if (style->see_row)
            style->see_row(style->see_context, stmt);
        layout.database = *n_rows < MAX_CALLERS ? database : NULL;
        add_row(&table, stmt, &layout, style->is_wide);
        ++*n_rows;
    }
    if (rc >= 0)
        rc = table_print(&table, style->width, style->is_coloured, out, err);
    table_done(&table);
    return rc;
}

/* ---- json ---- */

/* Reals as SQLite writes them; blobs, which have no form in JSON, become hexadecimal text. */
static int put_quoted(const struct rundb *database, struct sqlite3_stmt *quote,
                      struct sqlite3_value *value, FILE *out, struct error *err)
{
    int rc;

    sqlite3_bind_value(quote, 1, value);
    rc = rundb_step(database, quote, err);
    if (rc == 1)
        (void)fputs(rundb_text(quote, 0), out);
    sqlite3_reset(quote);
    return rc < 0 ? rc : 0;
}

/* Nearly every value is an integer, NULL or text: these need no statement. */
static int put_json(const struct rundb *database, struct sqlite3_stmt *row, int column,
                    struct sqlite3_stmt *quote, FILE *out, struct error *err)
{
    const char *text;
    size_t n_bytes;

    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        (void)fputs("null", out);
        return 0;
    case SQLITE_INTEGER:
        (void)fprintf(out, "%" PRId64, (int64_t)sqlite3_column_int64(row, column));
        return 0;
    case SQLITE_TEXT:
        text = rundb_text_bytes(row, column, &n_bytes);
        json_text_put_bytes(out, text, n_bytes);
        return 0;
    case SQLITE_FLOAT:
        if (isinf(sqlite3_column_double(row, column))) { /* which JSON cannot express */
            (void)fputs(sqlite3_column_double(row, column) < 0 ? "-9e999" : "9e999", out);
            return 0;
        }
        return put_quoted(database, quote, sqlite3_column_value(row, column), out, err);
    default:
        return put_quoted(database, quote, sqlite3_column_value(row, column), out, err);
    }
}

static int put_json_row(const struct rundb *database, struct sqlite3_stmt *row,
                        struct sqlite3_stmt *quote, const char *json_column, FILE *out,
                        struct error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < sqlite3_column_count(row); i++) {
        (void)fputs(i ? "," : "{", out);
        json_text_put(out, sqlite3_column_name(row, i));
        (void)fputs(":", out);
        if (json_column && strcmp(sqlite3_column_name(row, i), json_column) == 0
            && sqlite3_column_type(row, i) == SQLITE_TEXT)
            (void)fputs(rundb_text(row, i), out);
        else
            rc = put_json(database, row, i, quote, out, err);
    }
    (void)fputs("}", out);
    return rc;
}

static int render_json(const struct rundb *database, struct sqlite3_stmt *stmt,
                       const char *json_column, int64_t max_rows, FILE *out, int64_t *n_rows,
                       struct error *err)
{
    struct sqlite3_stmt *quote;
    int rc = rundb_prepare(database, "SELECT json_quote(iif(typeof(?1) = 'blob', hex(?1), ?1))",
                           &quote, err);

    if (rc != 0)
        return rc;
    (void)fputs("[", out);
    while ((max_rows < 0 || *n_rows < max_rows) && (rc = rundb_step(database, stmt, err)) == 1) {
        (void)fputs(*n_rows ? ",\n " : "\n ", out);
        rc = put_json_row(database, stmt, quote, json_column, out, err);
        if (rc != 0)
            break;
        ++*n_rows;
    }
    (void)fputs("\n]\n", out);
    sqlite3_finalize(quote);
    return rc < 0 ? rc : 0;
}

/* ---- csv ---- */

static bool is_quoted(const char *text, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        if (text[i] == ',' || text[i] == '"' || text[i] == '\r' || text[i] == '\n')
            return true;
    return false;
}

/* Control characters and marks of direction are replaced, as in tables; JSON has it unchanged.
 * Quotes keep line ends and tabs, and a NUL is written like any other byte. */
static size_t put_csv_character(const char *text, FILE *out)
{
    size_t n = *text ? utf8_length(text) : 1;

    if (*text == '"')
        (void)putc('"', out);
    if (n > 0 && (utf8_is_plain(text, n) || memchr("\n\r\t", *text, 4)))
        (void)fwrite(text, 1, n, out);
    else
        (void)putc('?', out);
    return n ? n : 1;
}

static void put_csv(const char *text, size_t n_bytes, FILE *out)
{
    bool has_quotes = is_quoted(text, n_bytes);

    if (!has_quotes && strlen(text) == n_bytes && utf8_is_clean(text)) {
        (void)fwrite(text, 1, n_bytes, out);
        return;
    }
    if (has_quotes)
        (void)putc('"', out);
    for (size_t i = 0; i < n_bytes;)
        i += put_csv_character(text + i, out);
    if (has_quotes)
        (void)putc('"', out);
}

static void put_csv_value(struct sqlite3_stmt *row, int column, FILE *out)
{
    const char *text;
    size_t n_bytes;

    if (sqlite3_column_type(row, column) == SQLITE_BLOB) {
        const unsigned char *bytes = sqlite3_column_blob(row, column);

        for (int i = 0; i < sqlite3_column_bytes(row, column); i++)
            (void)fprintf(out, "%02X", bytes[i]);
        return;
    }
    text = rundb_text_bytes(row, column, &n_bytes);
    put_csv(text, n_bytes, out);
}

static int render_csv(const struct rundb *database, struct sqlite3_stmt *stmt, int64_t max_rows,
                      FILE *out, int64_t *n_rows, struct error *err)
{
    int n_columns = sqlite3_column_count(stmt);
    int rc = 0;

    for (int i = 0; i < n_columns; i++) {
        (void)fputs(i ? "," : "", out);
        put_csv(sqlite3_column_name(stmt, i), strlen(sqlite3_column_name(stmt, i)), out);
    }
    (void)putc('\n', out);
    while ((max_rows < 0 || *n_rows < max_rows) && (rc = rundb_step(database, stmt, err)) == 1) {
        for (int i = 0; i < n_columns; i++) {
            (void)fputs(i ? "," : "", out);
            put_csv_value(stmt, i, out);
        }
        (void)putc('\n', out);
        ++*n_rows;
    }
    return rc < 0 ? rc : 0;
}

int render_statement(const struct rundb *database, struct sqlite3_stmt *stmt,
                     const struct render_style *style, int64_t max_rows, FILE *out,
                     int64_t *ret_n_rows, struct error *err)
{
    int64_t n_rows = 0;
    int rc;

    switch (style->format) {
    case RENDER_JSON:
        rc = render_json(database, stmt, style->json_column, max_rows, out, &n_rows, err);
        break;
    case RENDER_CSV:
        rc = render_csv(database, stmt, max_rows, out, &n_rows, err);
        break;
    default:
        rc = render_table(database, stmt, style, max_rows, out, &n_rows, err);
        break;
    }
    if (ret_n_rows)
        *ret_n_rows = n_rows;
    return rc;
}
