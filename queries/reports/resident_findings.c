/* SPDX-License-Identifier: MIT */
#include "queries/reports/resident_findings.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/notes.h"
#include "queries/core/query.h"
#include "queries/reports/summary_numbers.h"

#include <inttypes.h>
#include <string.h>

const char *resident_parts_format(const int64_t parts[RESIDENT_PARTS], const char *other,
                                  char ret_text[RESIDENT_TEXT_BYTES])
{
    static const struct {
        const char *words;
        bool is_always; /* also if it is 0 */
    } kinds[RESIDENT_PARTS] = {{"heaps", true},   {"own mappings", true},
                               {"stacks", false}, {"shared memory", false},
                               {"files", true},   {"not mapped through libc", true}};

    char text[UNITS_TEXT_BYTES];
    size_t used = 0;

    for (size_t i = 0; i < RESIDENT_PARTS; i++)
        if (kinds[i].is_always || parts[i] != 0)
            used += (size_t)snprintf(ret_text + used, RESIDENT_TEXT_BYTES - used, "%s%s %.32s",
                                     used ? " + " : "", units_format_bytes(parts[i], text),
                                     i == 0 && other ? other : kinds[i].words);
    return ret_text;
}

/* The most live bytes near a sample, so that memory which is freed and used again soon is no waste.
 * A header and rounding take at most 32 bytes of a block. */
#define SAMPLES_WITH_PARTS                                                                  \
    "SELECT m.*, (SELECT max(t.peak_bytes) + 32 * max(t.live_blocks) FROM timeline AS t"    \
    " WHERE t.process_id = m.process_id AND t.start_ns <= m.at_ns AND t.end_ns >= m.at_ns)" \
    " AS used_bytes, lead(m.at_ns, 1, p.end_ns) OVER (ORDER BY m.at_ns) AS until_ns"        \
    " FROM memory_samples AS m JOIN processes AS p ON p.process_id = m.process_id"          \
    " WHERE m.process_id = ?1 AND m.heap_resident_bytes IS NOT NULL"

/* The sample with most free memory, if there are two or the time is at least a second. */
static const char kept_sql[] =
    "WITH parts AS (" SAMPLES_WITH_PARTS "), kept AS ("
    " SELECT at_ns, heap_resident_bytes, heap_resident_bytes - used_bytes AS unused_bytes,"
    " count(*) OVER () AS samples, sum(until_ns - at_ns) OVER () AS time_ns FROM parts"
    " WHERE heap_resident_bytes - used_bytes >= max(4 << 20, heap_resident_bytes / 2))"
    " SELECT at_ns, heap_resident_bytes, unused_bytes FROM kept"
    " WHERE (samples >= 2 OR time_ns >= 1000000000)"
    " AND EXISTS (SELECT 1 FROM heaps WHERE process_id = ?1)"
    " ORDER BY unused_bytes DESC, at_ns LIMIT 1";

int resident_findings_add_kept(const struct finding_run *run, struct finding **ret_kept,
                               struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    const char *allocator = summary_text(run->numbers, "allocator");
    char text[3][UNITS_TEXT_BYTES];
    struct finding *finding;
    int64_t unused, at_ns;
    int rc;

    *ret_kept = NULL;
    /* Blocks without a row may lie there; after an attach also if no heap was seen. */
    if (finding_number(run, "unseen_heaps") > 0)
        return 0;
    rc = finding_first_row(run, kept_sql, &stmt, err);
    if (rc != 1)
        return rc;
    at_ns = sqlite3_column_int64(stmt, 0);
    unused = sqlite3_column_int64(stmt, 2);
    finding = finding_add(run, unused >= 16 * FINDING_MIB ? FINDING_WARNING : FINDING_INFO,
                          finding_share_of_peak(run, unused), unused, -1);
    *ret_kept = finding;
    finding_append(finding, "At %s %s kept %s of its %s resident although they were free.",
                   units_format_duration(at_ns, text[0]), *allocator ? allocator : "the allocator",
                   units_format_bytes(unused, text[1]),
                   units_format_bytes(sqlite3_column_int64(stmt, 1), text[2]));
    /* The parts of heaps are not known of samples. */
    finding_lead(run, finding,
                 summary_is_known(run->numbers, "heap_at_end_bytes") ? "fragmentation" : "timeline",
                 NULL, 0);
    finding_show_sql(run, finding, "memory_samples", " AND at_ns = %" PRId64, at_ns);
    sqlite3_finalize(stmt);
    return 0;
}

/* Mappings without blocks: at the first sample, at most, in the middle of the time and at the end.
 * ?2: most bytes of blocks with a mapping of their own. */
static const char mappings_sql[] =
    "WITH parts AS (" SAMPLES_WITH_PARTS "), levels AS ("
    " SELECT at_ns, rss_bytes, own_mapping_resident_bytes AS own, other_resident_bytes AS other,"
    " max(own_mapping_resident_bytes - min(used_bytes, ?2), 0) + other_resident_bytes AS bytes"
    " FROM parts WHERE used_bytes IS NOT NULL),"
    " ends AS (SELECT min(at_ns) AS first_ns, max(at_ns) AS last_ns FROM levels),"
    " figures AS (SELECT"
    " (SELECT bytes FROM levels ORDER BY at_ns LIMIT 1) AS first,"
    " (SELECT bytes FROM levels WHERE at_ns * 2 <= first_ns + last_ns ORDER BY at_ns DESC LIMIT 1)"
    " AS middle,"
    " (SELECT bytes FROM levels ORDER BY at_ns DESC LIMIT 1) AS last,"
    " (SELECT max(rss_bytes) FROM levels) AS highest FROM ends)"
    " SELECT l.at_ns, l.bytes, l.rss_bytes, f.middle <= 0.75 * l.bytes AND f.last >= 0.9 * l.bytes,"
    " l.own >= l.other FROM levels AS l JOIN figures AS f"
    " WHERE l.bytes - f.first >= 16 << 20 AND l.bytes * 3 >= f.highest"
    " ORDER BY l.bytes DESC, l.at_ns DESC LIMIT 1";

/* Bytes of blocks with a mapping of their own; all live ones if the heaps are unknown. */
static int64_t mapped_at_end(const struct finding_run *run)
{
    return finding_number(run, "leaked_bytes") - finding_number(run, "heap_at_end_live_bytes");
}

static int64_t mapped_at_peak(const struct finding_run *run)
{
    return run->peak_bytes - finding_number(run, "heap_at_peak_live_bytes");
}

/* mappings: the finding about mappings that are not blocks; NULL: none. */
static int add_python(const struct finding_run *run, struct finding *mappings, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    struct finding *finding = mappings;
    char text[UNITS_TEXT_BYTES];
    int rc = finding_first_row(run, "SELECT bytes FROM _python_arenas WHERE process_id = ?1", &stmt,
                               err);

    if (rc != 1)
        return rc;
    if (!mappings) {
        int64_t bytes = sqlite3_column_int64(stmt, 0);

        finding = finding_add(run, FINDING_INFO, finding_share_of_peak(run, bytes), bytes, -1);
        finding_append(finding, "CPython mapped %s of arenas.", units_format_bytes(bytes, text));
        finding_lead(run, finding, "mmaps", NULL, 0);
        finding_show_sql(run, finding, "mmaps", " AND length IN (0x40000, 0x100000)");
    }
    finding_append(finding, " " NOTES_OF_PYTHON ".");
    sqlite3_finalize(stmt);
    return 0;
}

int resident_findings_add_mappings(const struct finding_run *run, struct error *err)
{
    int64_t mapped = mapped_at_end(run);
    struct sqlite3_stmt *stmt = NULL;
    char text[3][UNITS_TEXT_BYTES];
    struct finding *finding = NULL;
    bool grows;
    int rc = finding_prepare(run, mappings_sql, &stmt, err);

    if (rc != 0)
        return rc;
    if (mapped < mapped_at_peak(run))
        mapped = mapped_at_peak(run);
    sqlite3_bind_int64(stmt, 2, mapped);
    rc = rundb_step(&run->query->database, stmt, err);
    if (rc == 1) {
        int64_t bytes = sqlite3_column_int64(stmt, 1);

        grows = sqlite3_column_int(stmt, 3) != 0;
        /* Tables of blocks show the smaller part if the mappings are larger than all blocks. */
        finding =
            finding_add(run, grows || bytes >= run->peak_bytes ? FINDING_WARNING : FINDING_INFO,
                        finding_share_of_peak(run, bytes), bytes, -1);
        finding_append(finding, "At %s %s of %s RSS were mappings that %s, not blocks%s.",
                       units_format_duration(sqlite3_column_int64(stmt, 0), text[0]),
                       units_format_bytes(bytes, text[1]),
                       units_format_bytes(sqlite3_column_int64(stmt, 2), text[2]),
                       sqlite3_column_int(stmt, 4) ? "the program made itself"
                                                   : "were not made through libc",
                       grows ? "; they grew throughout" : "");
        finding_lead(run, finding, "mmaps", NULL, 0);
        finding_show_sql(run, finding, "memory_samples", " AND heap_resident_bytes IS NOT NULL");
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : add_python(run, finding, err);
}
