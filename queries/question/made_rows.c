/* SPDX-License-Identifier: MIT */
#include "queries/question/made_rows.h"

#include "queries/question/query.h"
#include "queries/question/report.h"
#include "support/error.h"

#include <string.h>

void made_rows_init(struct made_rows *rows, const char *columns)
{
    *rows = (struct made_rows){.columns = columns, .json = sqlite3_str_new(NULL)};
    sqlite3_str_appendchar(rows->json, 1, '[');
}

void made_rows_done(struct made_rows *rows)
{
    sqlite3_free(sqlite3_str_finish(rows->json));
    rows->json = NULL;
}

void made_rows_begin(struct made_rows *rows)
{
    sqlite3_str_appendall(rows->json, rows->n++ ? ",[" : "[");
}

/* Every value is followed by a comma; the row ends with a place that nobody reads. */
void made_rows_end(struct made_rows *rows)
{
    sqlite3_str_appendall(rows->json, "0]");
}

void made_rows_add_int64(struct made_rows *rows, int64_t value)
{
    sqlite3_str_appendf(rows->json, "%lld,", (long long)value);
}

void made_rows_add_share(struct made_rows *rows, double value)
{
    sqlite3_str_appendf(rows->json, "%!.10f,", value);
}

void made_rows_add_null(struct made_rows *rows)
{
    sqlite3_str_appendall(rows->json, "null,");
}

void made_rows_add_text(struct made_rows *rows, const char *text)
{
    if (!text) {
        made_rows_add_null(rows);
        return;
    }
    sqlite3_str_appendchar(rows->json, 1, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            sqlite3_str_appendf(rows->json, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            sqlite3_str_appendf(rows->json, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            sqlite3_str_appendchar(rows->json, 1, *c);
    }
    sqlite3_str_appendall(rows->json, "\",");
}

/* "(SELECT value ->> 0 AS bytes, … FROM temp.made_rows)" */
static char *make_source(const struct made_rows *rows)
{
    struct sqlite3_str *sql = sqlite3_str_new(NULL);
    int column = 0;

    sqlite3_str_appendall(sql, "(SELECT ");
    for (const char *name = rows->columns; *name; column++) {
        size_t length = strcspn(name, ",");
        sqlite3_str_appendf(sql, "%svalue ->> %d AS \"%.*s\"", column ? ", " : "", column,
                            (int)length, name);
        name += length + (name[length] == ',');
    }
    sqlite3_str_appendall(sql, " FROM json_each(:made_rows))");
    return sqlite3_str_finish(sql);
}

int made_rows_show(struct made_rows *rows, struct query *query, struct error *err)
{
    const struct query_options *asked = query->options;
    struct query_options options = *asked;
    char *source = make_source(rows);
    int rc;

    options.process_id = 0; /* the rows are of these already */
    options.site_id = 0;

    sqlite3_str_appendchar(rows->json, 1, ']');
    if (!source || sqlite3_str_errcode(rows->json) != SQLITE_OK) {
        rc = error_set(err, ERROR_NOMEM, "no memory for %lld rows", (long long)rows->n);
    } else {
        query->options = &options;
        rc = report_show_made(query, source, sqlite3_str_value(rows->json), err);
        query->options = asked;
    }
    sqlite3_free(source);
    return rc;
}
