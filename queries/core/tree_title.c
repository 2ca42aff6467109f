/* SPDX-License-Identifier: MIT */
#include "queries/core/tree_title.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/core/stack_weights.h"
#include "queries/render/estimate.h"
#include "queries/render/shorten.h"

#include <stdio.h>
#include <string.h>

int tree_title_processes(const struct query *query, char *text, size_t size, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&query->database,
                           "SELECT executable, pid, count(*) OVER () FROM processes"
                           " WHERE :process IN (0, process_id) ORDER BY process_id LIMIT 1",
                           &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, query->options->process_id);
    rc = rundb_step(&query->database, stmt, err);
    text[0] = '\0';
    if (rc == 1) {
        const char *executable = (const char *)sqlite3_column_text(stmt, 0);
        int n = sqlite3_column_int(stmt, 2);
        bool has_pid = sqlite3_column_int(stmt, 1) > 0; /* a recording of another tool has none */
        int used =
            snprintf(text, size, has_pid ? "%s (pid %d" : "%s",
                     executable ? shorten_path(executable) : "?", sqlite3_column_int(stmt, 1));
        if (used > 0 && (size_t)used < size)
            (void)snprintf(text + used, size - (size_t)used,
                           !has_pid ? ""
                           : n > 1  ? " and %d more)"
                                    : ")",
                           n - 1);
        utf8_clean(text);
    }
    sqlite3_finalize(stmt);
    if (rc == 0)
        return error_set(err, ERROR_NOT_FOUND, "'%s' has no process %lld",
                         query->options->database_path, (long long)query->options->process_id);
    return rc < 0 ? rc : 0;
}

int tree_title_format(const struct query *query, const struct stack_weights *weights,
                      char *ret_text, size_t size, struct error *err)
{
    char processes[512];
    const bool is_estimate = weights->is_estimate;
    char bytes[ESTIMATE_TEXT_BYTES];
    char blocks[ESTIMATE_TEXT_BYTES];
    char stacks[UNITS_TEXT_BYTES];
    int rc = tree_title_processes(query, processes, sizeof(processes), err);

    if (rc != 0)
        return rc;
    (void)snprintf(
        ret_text, size, "%s: %s, %s in %s of %s %s", processes,
        stack_measure_title(query, weights->measure),
        estimate_format_bytes(weights->total_bytes,
                              estimate_margin(is_estimate, weights->bytes_square), bytes),
        estimate_format_blocks(weights->total_blocks,
                               estimate_margin(is_estimate, weights->blocks_square), blocks),
        units_format_count((int64_t)weights->n, stacks), weights->n == 1 ? "stack" : "stacks");
    if (weights->suppressed_bytes > 0)
        (void)snprintf(ret_text + strlen(ret_text), size - strlen(ret_text),
                       "; %s suppressed and omitted",
                       units_format_bytes(weights->suppressed_bytes, bytes));
    headline_filters(query, ret_text + strlen(ret_text), size - strlen(ret_text));
    return 0;
}
