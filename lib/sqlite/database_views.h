/* SPDX-License-Identifier: MIT */
/*
 * database_views: the embedded views of schema and reports as TEMP views of a guarded connection, those that are
 * needed: SQLite takes longer to read all of their definitions than to answer most questions.
 *
 * Model: a statement needs each view whose name is a word of it, and what the definitions of those name in turn.
 *        A name in a literal or a comment counts, too: one view more does no harm.
 * Ownership: database_views_done frees them, also when they could not all be found; definitions stay their owners'.
 * Threads: the connection's. Failure: ERROR_NOMEM, ERROR_DATABASE.
 */
#ifndef MTRACE_LIB_DATABASE_VIEWS_H
#define MTRACE_LIB_DATABASE_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct sqlite3;

struct database_views {
    struct database_view {
        const char *definition; /* behind CREATE VIEW: its name comes first */
        size_t name_length;
        bool is_table; /* made of its views' answers when it is first needed, and kept */
        bool is_needed, is_looked_at, is_loaded;
    } * items; /* tables behind all views */

    size_t n, capacity;
    size_t n_missing; /* needed and not loaded */
    bool is_settled;
};

/* None is needed yet. */
int database_views_find(struct database_views *views, struct error *err);
void database_views_done(struct database_views *views);

/* A TEMP table, by what stands behind CREATE TABLE; once for each name. The text is static. None is made before
 * database_views_settle. */
int database_views_add_table(struct database_views *views, const char *definition,
                             struct error *err);

/* Another definition of the view that it names, unless that is loaded already. The text is static. */
void database_views_replace(struct database_views *views, const char *definition);

/* What the tables are made of stands from here on. */
void database_views_settle(struct database_views *views);

/* What a statement needs; NULL: all. Whether something is to be loaded. */
bool database_views_need(struct database_views *views, const char *sql);

/* Loads what is needed. The connection must be allowed to make views. Returns SQLite's code: tables are made here, too, which takes
 * its time and can be interrupted as any statement. */
int database_views_load(struct database_views *views, struct sqlite3 *db);

#endif
