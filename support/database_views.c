/* SPDX-License-Identifier: MIT */
#include "support/database_views.h"

#include "support/database_guard.h"
#include "support/embedded_sql.h"
#include "support/error.h"

#include <sqlite3.h>
#include <string.h>

static const char create[] = "\nCREATE VIEW ";

/* ---- which there are ---- */

static size_t word_length(const char *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    return strspn(at, letters);
}

static void find_in(struct database_views *views, const struct embedded_sql *part)
{
    for (; part->name; part++) {
        for (const char *at = strstr(part->text, create); at && views->n < DATABASE_VIEWS_MAX;
             at = strstr(at, create)) {
            at += strlen(create);
            views->items[views->n++] =
                (struct database_view){.definition = at, .name_length = word_length(at)};
        }
    }
}

void database_views_find(struct database_views *views)
{
    *views = (struct database_views){.n = 0};
    find_in(views, embedded_schema);
    find_in(views, embedded_views);
}

/* ---- which are needed ---- */

static void need(struct database_views *views, struct database_view *view)
{
    views->n_needed += !view->is_needed;
    view->is_needed = true;
}

static void need_named(struct database_views *views, const char *name, size_t length)
{
    for (size_t i = 0; i < views->n; i++)
        if (views->items[i].name_length == length
            && sqlite3_strnicmp(views->items[i].definition, name, (int)length) == 0)
            need(views, &views->items[i]);
}

/* end NULL: of the text. */
static void need_words(struct database_views *views, const char *sql, const char *end)
{
    while (*sql && (!end || sql < end)) {
        size_t length = word_length(sql);

        if (length > 0)
            need_named(views, sql, length);
        sql += length + (length == 0);
    }
}

/* A definition ends somewhere before the next one. */
static void look_at(struct database_views *views, struct database_view *view)
{
    view->is_looked_at = true;
    need_words(views, view->definition, strstr(view->definition, create));
}

bool database_views_need(struct database_views *views, const char *sql)
{
    size_t before;

    if (sql)
        need_words(views, sql, NULL);
    for (size_t i = 0; !sql && i < views->n; i++)
        need(views, &views->items[i]);
    do {
        before = views->n_needed;
        for (size_t i = 0; i < views->n; i++)
            if (views->items[i].is_needed && !views->items[i].is_looked_at)
                look_at(views, &views->items[i]);
    } while (views->n_needed > before);
    return views->n_needed > views->n_loaded;
}

/* ---- loading ---- */

/* One statement; SQLite finds its end. */
static int load_view(struct sqlite3 *db, const char *definition, struct error *err)
{
    char *sql = sqlite3_mprintf("CREATE TEMP VIEW %s", definition);
    struct sqlite3_stmt *stmt = NULL;
    int rc = 0;

    if (!sql)
        return error_set(err, ERROR_NOMEM, "no memory for a view");
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK
        || sqlite3_step(stmt) != SQLITE_DONE)
        rc = error_set(err, ERROR_DATABASE, "cannot make a view: %s", sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return rc;
}

int database_views_load(struct database_views *views, struct sqlite3 *db, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < views->n; i++) {
        struct database_view *view = &views->items[i];

        if (!view->is_needed || view->is_loaded)
            continue;
        rc = load_view(db, view->definition, err);
        view->is_loaded = rc == 0;
        views->n_loaded += rc == 0;
    }
    return rc;
}

int database_guard_load_views(struct sqlite3 *db, struct error *err)
{
    struct database_views views;

    database_views_find(&views);
    (void)database_views_need(&views, NULL);
    return database_views_load(&views, db, err);
}
