/* SPDX-License-Identifier: MIT */
/*
 * fragmentation: the view; for people also what RSS consisted of then, and the advice that fits.
 */
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/core/report.h"
#include "queries/filter/filter.h"
#include "queries/render/wrap.h"
#include "queries/reports/findings.h"
#include "queries/reports/process_ranking.h"
#include "queries/reports/reports.h"
#include "queries/reports/resident_findings.h"
#include "queries/reports/summary_numbers.h"

#include <inttypes.h>

/* The sample with parts that is nearest to each time of the table; two times may share one. */
static const char samples_sql[] =
    "WITH times AS (SELECT DISTINCT at, at_ns FROM fragmentation WHERE process_id = ?1),"
    " nearest AS (SELECT t.at, m.at_ns, min(abs(m.at_ns - t.at_ns)) FROM times AS t"
    "  JOIN memory_samples AS m ON m.process_id = ?1 AND m.heap_resident_bytes IS NOT NULL"
    "  GROUP BY t.at)"
    " SELECT iif(count(*) = 1, n.at, 'peak and the end'), m.at_ns, m.rss_bytes, m.heap_resident_bytes,"
    " m.own_mapping_resident_bytes, m.thread_stack_resident_bytes, m.shared_memory_bytes,"
    " m.file_resident_bytes, m.other_resident_bytes,"
    " (SELECT t.live_bytes FROM timeline AS t WHERE t.process_id = ?1 AND t.end_ns >= m.at_ns"
    "  ORDER BY t.bucket LIMIT 1)"
    " FROM nearest AS n JOIN memory_samples AS m ON m.process_id = ?1 AND m.at_ns = n.at_ns"
    " GROUP BY m.at_ns ORDER BY m.at_ns";

enum sample_column {
    AT,
    AT_NS,
    RSS_BYTES,
    PARTS,
    LIVE_BYTES = PARTS + RESIDENT_PARTS
};

static void print_text(const struct query *query, int64_t process_id, const char *text)
{
    int width = query->style.width;
    int at = query->style.has_process ? fprintf(query->out, "process %" PRId64 ":", process_id) : 0;

    wrap_text(text, (size_t)at, (size_t)at + (at > 0), width > 0 ? (size_t)width : SIZE_MAX,
              query->out);
}

static void print_sample(const struct query *query, int64_t process_id,
                         const struct summary_numbers *numbers, struct sqlite3_stmt *row)
{
    int64_t parts[RESIDENT_PARTS];
    char part_text[RESIDENT_TEXT_BYTES];
    char line[2 * RESIDENT_TEXT_BYTES];
    char text[3][UNITS_TEXT_BYTES];

    for (int i = 0; i < RESIDENT_PARTS; i++)
        parts[i] = sqlite3_column_int64(row, PARTS + i);
    (void)snprintf(line, sizeof(line), "RSS near the %s, at %s: %s = %s; live blocks: %s.",
                   rundb_text(row, AT),
                   units_format_duration(sqlite3_column_int64(row, AT_NS), text[0]),
                   units_format_bytes(sqlite3_column_int64(row, RSS_BYTES), text[1]),
                   resident_parts_format(parts, summary_other_allocator(numbers), part_text),
                   units_format_bytes(sqlite3_column_int64(row, LIVE_BYTES), text[2]));
    print_text(query, process_id, line);
}

static int print_samples(const struct query *query, int64_t process_id,
                         const struct summary_numbers *numbers, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&query->database, samples_sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    while ((rc = rundb_step(&query->database, stmt, err)) == 1)
        print_sample(query, process_id, numbers, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

static int print_process(struct query *query, int64_t process_id, struct error *err)
{
    struct summary_numbers numbers;
    struct findings findings = {.n = 0};
    int rc = summary_numbers_read(query, process_id, &numbers, err);

    if (rc == 0)
        rc = print_samples(query, process_id, &numbers, err);
    if (rc == 0 && !filter_instant(&query->options->filter))
        rc = findings_collect_unused(query, process_id, &numbers, &findings, err);
    if (findings.n > 0)
        print_text(query, process_id, findings.list[0].sentence);
    return rc;
}

/* Of many processes the table is enough. */
int cmd_fragmentation_below(struct query *query, struct error *err)
{
    int64_t n_processes = 1;
    int rc = query->options->process_id
                 ? 0
                 : rundb_get_int64(&query->database, "SELECT count(*) FROM processes", &n_processes,
                                   err);

    if (rc == 0 && n_processes <= PROCESS_RANKING_SCREENS)
        rc = headline_each_process(query, print_process, err);
    return rc;
}
