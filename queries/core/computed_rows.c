/* SPDX-License-Identifier: MIT */
#include "queries/core/computed_rows.h"

#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "queries/core/query.h"
#include "queries/core/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put(struct computed_rows *rows, const char *text)
{
    if (rows->out)
        (void)fputs(text, rows->out);
}

/* False: out of memory, now or earlier. */
static bool finish(struct computed_rows *rows)
{
    bool is_bad = !rows->out || fputs("]", rows->out) == EOF || ferror(rows->out);

    is_bad = (rows->out && fclose(rows->out) != 0) || is_bad;
    rows->out = NULL;
    return !is_bad;
}

void computed_rows_init(struct computed_rows *rows, const char *columns)
{
    *rows = (struct computed_rows){.columns = columns};
    rows->out = open_memstream(&rows->json, &rows->n_bytes);
    put(rows, "[");
}

void computed_rows_done(struct computed_rows *rows)
{
    if (rows->out)
        (void)fclose(rows->out);
    free(rows->json);
    *rows = (struct computed_rows){.n = 0};
}

void computed_rows_begin(struct computed_rows *rows)
{
    put(rows, rows->n++ ? ",[" : "[");
}

/* Every value is followed by a comma; the row ends with an element that is not read. */
void computed_rows_end(struct computed_rows *rows)
{
    put(rows, "0]");
}

void computed_rows_add_int64(struct computed_rows *rows, int64_t value)
{
    if (rows->out)
        (void)fprintf(rows->out, "%" PRId64 ",", value);
}

/* SQLite formats it: JSON requires a decimal point in every locale. */
void computed_rows_add_share(struct computed_rows *rows, double value)
{
    char text[64];

    put(rows, sqlite3_snprintf(sizeof(text), text, "%!.10f,", value));
}

void computed_rows_add_null(struct computed_rows *rows)
{
    put(rows, "null,");
}

void computed_rows_add_text(struct computed_rows *rows, const char *text)
{
    if (!text) {
        computed_rows_add_null(rows);
    } else if (rows->out) {
        json_text_put(rows->out, text);
        put(rows, ",");
    }
}

/* "(SELECT value ->> 0 AS bytes, … FROM temp.made_rows)" */
static char *make_source(const struct computed_rows *rows)
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

int computed_rows_show(struct computed_rows *rows, struct query *query, struct error *err)
{
    const struct query_options *asked = query->options;
    struct query_options options = *asked;
    char *source = make_source(rows);
    int rc;

    options.process_id = 0; /* the rows are of these already */
    options.site_id = 0;

    if (!finish(rows) || !source) {
        rc = error_set(err, ERROR_NOMEM, "no memory for %lld rows", (long long)rows->n);
    } else {
        query->options = &options;
        rc = report_show_made(query, source, rows->json, err);
        query->options = asked;
    }
    sqlite3_free(source);
    return rc;
}
