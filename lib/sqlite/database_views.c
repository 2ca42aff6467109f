/* SPDX-License-Identifier: MIT */
#include "lib/sqlite/database_views.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/sqlite/database_guard.h"
#include "lib/sqlite/embedded_sql.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static const char create[] = "\nCREATE VIEW ";

/* ---- all views ---- */

static size_t word_length(const char *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    return strspn(at, letters);
}

static int add(struct database_views *views, const char *definition, bool is_table,
               struct error *err)
{
    struct database_view *items =
        dynamic_array_reserve(views->items, &views->capacity, views->n + 1, sizeof(*items));

    if (!items)
        return error_set(err, ERROR_NOMEM, "no memory for %zu views", views->n);
    views->items = items;
    items[views->n++] = (struct database_view){
        .definition = definition, .name_length = word_length(definition), .is_table = is_table};
    return 0;
}

static int find_in(struct database_views *views, const struct embedded_sql *part, struct error *err)
{
    int rc = 0;

    for (; rc == 0 && part->name; part++) {
        for (const char *at = strstr(part->text, create); rc == 0 && at; at = strstr(at, create)) {
            at += strlen(create);
            rc = add(views, at, false, err);
        }
    }
    return rc;
}

int database_views_find(struct database_views *views, struct error *err)
{
    int rc;

    *views = (struct database_views){.n = 0};
    rc = find_in(views, embedded_schema, err);
    return rc == 0 ? find_in(views, embedded_views, err) : rc;
}

void database_views_done(struct database_views *views)
{
    free(views->items);
    *views = (struct database_views){.n = 0};
}

int database_views_add_table(struct database_views *views, const char *definition,
                             struct error *err)
{
    const size_t length = word_length(definition);

    for (size_t i = 0; i < views->n; i++)
        if (views->items[i].name_length == length
            && strncmp(views->items[i].definition, definition, length) == 0)
            return 0;
    return add(views, definition, true, err);
}

void database_views_replace(struct database_views *views, const char *definition)
{
    const size_t length = word_length(definition);

    for (size_t i = 0; i < views->n; i++) {
        struct database_view *view = &views->items[i];

        if (!view->is_table && !view->is_loaded && view->name_length == length
            && strncmp(view->definition, definition, length) == 0)
            view->definition = definition;
    }
}

/* Starts again: views needed until now have skipped their tables. */
void database_views_settle(struct database_views *views)
{
    views->is_settled = true;
    for (size_t i = 0; i < views->n; i++)
        views->items[i].is_needed = views->items[i].is_looked_at = false;
}

/* ---- needed views ---- */

static void need(struct database_views *views, struct database_view *view)
{
    if (view->is_needed || (view->is_table && !views->is_settled))
        return;
    view->is_needed = true;
    views->n_missing += !view->is_loaded;
}

static void need_named(struct database_views *views, const char *name, size_t length)
{
    for (size_t i = 0; i < views->n; i++)
        if (views->items[i].name_length == length
            && sqlite3_strnicmp(views->items[i].definition, name, (int)length) == 0)
            need(views, &views->items[i]);
}

/* end NULL: the end of the text. */
static void need_words(struct database_views *views, const char *sql, const char *end)
{
    while (*sql && (!end || sql < end)) {
        size_t length = word_length(sql);

        if (length > 0)
            need_named(views, sql, length);
        sql += length + (length == 0);
    }
}

/* Scans until the next definition; this one ends somewhere before it. */
static void look_at(struct database_views *views, struct database_view *view)
{
    view->is_looked_at = true;
    need_words(views, view->definition, strstr(view->definition, create));
}

bool database_views_need(struct database_views *views, const char *sql)
{
    bool is_more;

    if (sql)
        need_words(views, sql, NULL);
    for (size_t i = 0; !sql && i < views->n; i++)
        need(views, &views->items[i]);
    do {
        is_more = false;
        for (size_t i = 0; i < views->n; i++)
            if (views->items[i].is_needed && !views->items[i].is_looked_at) {
                look_at(views, &views->items[i]);
                is_more = true;
            }
    } while (is_more);
    return views->n_missing > 0;
}

/* ---- loading ---- */

/* Runs one statement; SQLite finds its end. */
static int load(struct sqlite3 *db, const struct database_view *view)
{
    char *sql =
        sqlite3_mprintf("CREATE TEMP %s %s", view->is_table ? "TABLE" : "VIEW", view->definition);
    struct sqlite3_stmt *stmt = NULL;
    int code = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;

    if (code == SQLITE_OK) {
        (void)sqlite3_step(stmt);
        code = sqlite3_finalize(stmt);
    }
    sqlite3_free(sql);
    return code;
}

int database_views_load(struct database_views *views, struct sqlite3 *db)
{
    int code = SQLITE_OK;

    for (size_t i = 0; code == SQLITE_OK && i < views->n; i++) {
        struct database_view *view = &views->items[i];

        if (!view->is_needed || view->is_loaded)
            continue;
        code = load(db, view);
        view->is_loaded = code == SQLITE_OK;
        views->n_missing -= code == SQLITE_OK;
    }
    return code;
}

int database_guard_load_views(struct sqlite3 *db, struct error *err)
{
    struct database_views views;
    int code;
    int rc;

    rc = database_views_find(&views, err);
    if (rc == 0) {
        (void)database_views_need(&views, NULL);
        code = database_views_load(&views, db);
        if (code != SQLITE_OK)
            rc = error_set(err, ERROR_DATABASE, "cannot make a view: %s", sqlite3_errstr(code));
    }
    database_views_done(&views);
    return rc;
}
