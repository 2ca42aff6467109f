/* SPDX-License-Identifier: MIT */
#include "queries/reports/image_findings.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/query.h"

#include <sqlite3.h>

/* The call sites of an image are few; its blocks may be millions. */
#define LAST_SITES                                                                             \
    "WITH image AS (SELECT max(image_id) AS image_id FROM heap_images WHERE process_id = ?1)," \
    " sites AS (SELECT s.* FROM heap_image_sites AS s JOIN image USING (image_id))"

enum sums_column {
    AT_NS,
    LOST_BYTES,
    HELD_BYTES,
    HOLDER_BYTES,
    HOLDER,
    PLACE /* and the next three */
};

static const char sums_sql[] = LAST_SITES
    " SELECT i.at_ns - p.start_ns, (SELECT sum(lost_bytes) FROM sites), (SELECT sum(held_bytes) FROM sites),"
    " h.bytes, coalesce(r.symbol, 'a ' || r.kind), s.function, s.source, s.line, s.module"
    " FROM image CROSS JOIN heap_images AS i USING (image_id) JOIN processes AS p USING (process_id)"
    " LEFT JOIN (SELECT root_id, sum(held_bytes) AS bytes FROM sites GROUP BY root_id ORDER BY 2 DESC LIMIT 1) AS h"
    " LEFT JOIN roots AS r ON r.root_id = h.root_id"
    " LEFT JOIN (SELECT call_site_id FROM sites WHERE lost_bytes > 0 ORDER BY lost_bytes DESC LIMIT 1) AS l"
    " LEFT JOIN _sites AS s ON s.call_site_id = l.call_site_id";

static void add(const struct finding_run *run, struct sqlite3_stmt *row)
{
    int64_t lost_bytes = sqlite3_column_int64(row, LOST_BYTES);
    int64_t held_bytes = sqlite3_column_int64(row, HELD_BYTES);
    enum finding_severity severity = finding_growth_severity(run, lost_bytes);
    int64_t bytes = severity == FINDING_INFO ? lost_bytes + held_bytes : lost_bytes;
    char place[FINDING_PLACE_BYTES];
    char text[UNITS_TEXT_BYTES];
    struct finding *finding =
        finding_add(run, severity, finding_share_of_peak(run, bytes), lost_bytes, -1);

    finding->kind = lost_bytes ? FINDING_OF_LEAKS : FINDING_OF_MEMORY;
    finding_append(finding, "At the heap image after %s",
                   units_format_duration(sqlite3_column_int64(row, AT_NS), text));
    if (lost_bytes) {
        finding_format_place(row, PLACE, place);
        finding_append(finding,
                       ", the program could no longer reach %s, most of it allocated in %s",
                       units_format_bytes(lost_bytes, text), place);
    } else {
        finding_append(finding, ", nothing was lost");
    }
    if (held_bytes) {
        finding_append(finding, "; %s was held", units_format_bytes(held_bytes, text));
        finding_append(finding, ", %s by %s",
                       units_format_bytes(sqlite3_column_int64(row, HOLDER_BYTES), text),
                       rundb_text(row, HOLDER));
    }
    finding_append(finding, ".");
    finding_lead_to_view(run, finding, lost_bytes ? "lost" : "held");
}

int image_findings_add(const struct finding_run *run, struct error *err)
{
    struct sqlite3_stmt *row;
    int rc = finding_first_row(run, sums_sql, &row, err);

    if (rc != 1)
        return rc;
    add(run, row);
    sqlite3_finalize(row);
    return 0;
}
