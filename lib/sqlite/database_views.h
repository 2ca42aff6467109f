/* SPDX-License-Identifier: MIT */
/*
 * database_views: embedded views of schema and reports as TEMP views of a guarded connection.
 *
 * Only the views that are needed are loaded: SQLite takes longer to parse all definitions than to
 * answer most queries. A statement needs each view whose name occurs in it as a word, and in turn
 * the views that those definitions name. A name in a literal or a comment counts, too; an unneeded
 * view does no harm.
 *
 * database_views_done frees the lists, also after database_views_find failed; it does not free
 * definitions. Used by the connection's thread. Fails with ERROR_NOMEM, ERROR_DATABASE.
 */
#ifndef MTRACE_LIB_DATABASE_VIEWS_H
#define MTRACE_LIB_DATABASE_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct sqlite3;

struct database_views {
    struct database_view {
        const char *definition; /* text after CREATE VIEW; begins with its name */
        size_t name_length;
        bool is_table; /* filled from its views when it is first needed, and kept */
        bool is_needed, is_looked_at, is_loaded;
    } * items; /* tables after all views */

    size_t n, capacity;
    size_t n_missing; /* needed and not loaded */
    bool is_settled;
};

/* Finds all views; none is needed yet. */
int database_views_find(struct database_views *views, struct error *err);
void database_views_done(struct database_views *views);

/* Adds a TEMP table by the static text after CREATE TABLE; once for each name. No table is made
 * before database_views_settle. */
int database_views_add_table(struct database_views *views, const char *definition,
                             struct error *err);

/* Replaces the definition of the view that it names, unless that is loaded already. The text is
 * static. */
void database_views_replace(struct database_views *views, const char *definition);

/* From here on, the sources of the tables do not change. */
void database_views_settle(struct database_views *views);

/* Marks what a statement needs; NULL: all. Returns whether something is to be loaded. */
bool database_views_need(struct database_views *views, const char *sql);

/* Loads what is needed. The connection must be allowed to make views. Returns SQLite's code. Tables
 * are filled here, too; that takes time and can be interrupted like any statement. */
int database_views_load(struct database_views *views, struct sqlite3 *db);

#endif
