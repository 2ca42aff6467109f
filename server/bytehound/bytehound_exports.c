/* SPDX-License-Identifier: MIT */
/* Files for other programs: mtrace-query writes those that it knows; the operations for bytehound's
 * replay are written here. */
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "server/bytehound/bytehound_filter.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/core/request.h"
#include "server/http/exchange.h"

#include <stdint.h>
#include <string.h>

/* ---- by the library ---- */

/* Passes the filter on as our own parameters. */
static int ask(struct bytehound *self, const char *command, const char *format, struct error *err)
{
    struct exchange *exchange = self->exchange;
    struct bytehound_filter filter;
    struct exchange own = *exchange;
    const struct request asked = {.command = command};
    int rc = bytehound_filter_init(&filter, self, err);

    if (rc == 0 && sqlite3_str_length(filter.more) > 0)
        rc = error_set(err, ERROR_USAGE,
                       "exports take no jemalloc, from_map and group_max_total_usage_first_seen");
    own.n_parameters = 0;
    own.if_none_match = NULL;
    for (size_t i = 0; i < filter.filter.n_values; i++)
        own.parameters[own.n_parameters++] = (struct exchange_parameter){
            filter.filter.values[i].parameter->name, filter.filter.values[i].text};
    if (format)
        own.parameters[own.n_parameters++] = (struct exchange_parameter){"to", format};
    if (!format || strcmp(format, "flamegraph.pl") == 0)
        own.parameters[own.n_parameters++] = (struct exchange_parameter){"measure", "allocated"};
    if (rc == 0)
        rc = request_answer(self->place, self->recording, &asked, &own, err);
    exchange->policy = own.policy;
    exchange->content_type = format ? "text/plain; charset=utf-8" : own.content_type;
    bytehound_filter_done(&filter);
    return rc;
}

int bytehound_flamegraph(struct bytehound *self, const char *rest, struct error *err)
{
    (void)rest;
    return ask(self, "flamegraph", NULL, err);
}

int bytehound_collapsed(struct bytehound *self, const char *rest, struct error *err)
{
    (void)rest;
    return ask(self, "export", "flamegraph.pl", err);
}

int bytehound_heaptrack(struct bytehound *self, const char *rest, struct error *err)
{
    (void)rest;
    return ask(self, "export", "heaptrack", err);
}

/* ---- replay ---- */

/*
 * Two words, how many slots and operations there are, then four words for each operation: what, slot, us
 * since the epoch, bytes. The blocks of a chain have one slot, because one of them is live at a time.
 * Where only one of the two blocks of a realloc passes the filter it is an allocation or a free.
 */
static const char operations_sql[] =
    "WITH m AS MATERIALIZED (%s),"
    " o AS (SELECT m.alloc_ns AS at_ns, m.allocation_id AS id, 0 AS is_end,"
    " iif(c.realloc_from_id IN (SELECT allocation_id FROM m), 3, 1) AS operation,"
    " ifnull(c.chain_id, m.allocation_id) AS slot, m.size_bytes AS bytes"
    " FROM m LEFT JOIN chain_rows AS c ON c.allocation_id = m.allocation_id"
    " UNION ALL SELECT m.alloc_ns + m.lifetime_ns, m.allocation_id, 1, 2,"
    " ifnull(c.chain_id, m.allocation_id), 0"
    " FROM m LEFT JOIN chain_rows AS c ON c.allocation_id = m.allocation_id"
    " WHERE m.ended_by IN (1, 3) OR (m.ended_by = 2 AND m.allocation_id NOT IN"
    " (SELECT n.realloc_from_id FROM chain_rows AS n JOIN m ON m.allocation_id = n.allocation_id"
    " WHERE n.realloc_from_id IS NOT NULL)))"
    " SELECT %s FROM o %s";

static int prepare_operations(const struct bytehound *self, const struct bytehound_filter *filter,
                              const char *columns, const char *tail, struct sqlite3_stmt **ret_stmt,
                              struct error *err)
{
    char *rows = bytehound_filter_rows(
        filter, "a.allocation_id, a.alloc_ns, a.lifetime_ns, a.size_bytes, a.ended_by", "");
    char *sql = rows ? sqlite3_mprintf(operations_sql, rows, columns, tail) : NULL;

    sqlite3_free(rows);
    return bytehound_filter_prepare(filter, self, sql, ret_stmt, err);
}

static void put_word(FILE *out, uint64_t word)
{
    (void)fwrite(&word, sizeof(word), 1, out);
}

/* The numbers of slots and operations, then the operations. */
static int put_operations(struct bytehound *self, const struct bytehound_filter *filter,
                          bool is_head, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = is_head ? prepare_operations(self, filter, "ifnull(max(slot) + 1, 0), count(*)", "",
                                          &stmt, err)
                     : prepare_operations(self, filter, "operation, slot, at_ns, bytes",
                                          "ORDER BY at_ns, id, is_end", &stmt, err);

    while (rc == 0 && (rc = rundb_step(&self->database, stmt, err)) == 1) {
        put_word(self->out, (uint64_t)sqlite3_column_int64(stmt, 0));
        put_word(self->out, (uint64_t)sqlite3_column_int64(stmt, 1));
        rc = 0;
        if (is_head)
            continue;
        put_word(self->out,
                 (uint64_t)saturating_add(self->start_unix_ns, sqlite3_column_int64(stmt, 2))
                     / 1000);
        put_word(self->out, (uint64_t)sqlite3_column_int64(stmt, 3));
    }
    sqlite3_finalize(stmt);
    return rc;
}

int bytehound_replay(struct bytehound *self, const char *rest, struct error *err)
{
    struct bytehound_filter filter;
    int rc = bytehound_filter_init(&filter, self, err);

    (void)rest;
    self->exchange->content_type = "application/octet-stream";
    if (rc == 0)
        rc = bytehound_check_rows(self, err);
    if (rc == 0)
        rc = put_operations(self, &filter, true, err);
    if (rc == 0)
        rc = put_operations(self, &filter, false, err);
    bytehound_filter_done(&filter);
    return rc;
}
