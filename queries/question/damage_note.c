/* SPDX-License-Identifier: MIT */
#include "queries/question/damage_note.h"

#include "queries/question/command.h"
#include "queries/question/query.h"
#include "support/units.h"

#include <string.h>

enum {
    NOTE_BYTES = 768
};

static const char damage_sql[] =
    "SELECT m.value, (SELECT value FROM meta WHERE key = 'log.lost_bytes'),"
    " (SELECT value FROM meta WHERE key = 'log.damage.node') FROM meta AS m WHERE m.key = 'log.damage'";

static void format(struct sqlite3_stmt *row, char *text, size_t size)
{
    const char *kinds = (const char *)sqlite3_column_text(row, 0);
    int64_t n_without_stack = sqlite3_column_int64(row, 2);
    char bytes[UNITS_TEXT_BYTES];
    char events[UNITS_TEXT_BYTES];

    (void)snprintf(text, size, "log damaged: %s lost, first %.*s",
                   units_format_bytes(sqlite3_column_int64(row, 1), bytes),
                   (int)strcspn(kinds, "\n"), kinds);
    if (n_without_stack)
        (void)snprintf(text + strlen(text), size - strlen(text), "; %s without their stack",
                       units_format_counted(n_without_stack, "event", events));
    (void)snprintf(text + strlen(text), size - strlen(text),
                   "; totals are lower bounds, leaks may be too many");
}

int damage_note_format(const struct query *query, char *ret_text, size_t size, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&query->database, damage_sql, &stmt, err);

    ret_text[0] = '\0';
    if (rc != 0)
        return rc;
    rc = rundb_step(&query->database, stmt, err);
    if (rc == 1 && sqlite3_column_type(stmt, 0) == SQLITE_TEXT)
        format(stmt, ret_text, size);
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

int damage_note_print(const struct query *query, struct error *err)
{
    char text[NOTE_BYTES];
    int rc;

    if (query->options->command->has_headline && query->style.format == RENDER_TABLE)
        return 0;
    rc = damage_note_format(query, text, sizeof(text), err);
    if (rc == 0 && text[0])
        query_remark(query, "%s", text);
    return rc;
}
