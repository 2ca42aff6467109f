/* SPDX-License-Identifier: MIT */
#include "queries/reports/leak_findings.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/query.h"
#include "queries/render/estimate.h"
#include "queries/reports/finding.h"
#include "queries/reports/summary_numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LEAKS = 64, /* call sites that are examined */
    MAX_TOGETHER = 16,
    MAX_MULTIPLE = 8,
    SITES_BYTES = 24 + 22 * MAX_TOGETHER, /* of their ids as SQL */
    MAX_OWN_LEAKS = 3                     /* findings about one leak; the others share one */
};

struct leak {
    int64_t site_id, bytes, blocks, first_ns, last_ns;
    double margin; /* of bytes; negative: exact */
    char pattern[16];
    char place[FINDING_PLACE_BYTES];
    char verdict[FINDING_PLACE_BYTES];  /* of the last heap image; or "" */
    char freed_in[FINDING_PLACE_BYTES]; /* where most other blocks of its stacks are freed; or "" */
};

/* Leaks that one finding is about. */
struct leak_group {
    int64_t bytes, blocks;
    double square;                          /* of the margin of bytes; negative: exact */
    const struct leak *sites[MAX_TOGETHER]; /* the largest first */
    size_t n;
    int64_t n_processes, own_bytes, own_blocks; /* bytes and blocks are of so many processes */
};

struct leaks {
    struct leak list[MAX_LEAKS];
    bool is_reported[MAX_LEAKS];
    size_t n;
    int64_t reported_bytes, reported_blocks;
};

/* A program that exits frees little of what it still uses: only a heap image shows a leak. */
static enum finding_severity severity_of_leak(const struct finding_run *run,
                                              const struct leak_group *group)
{
    enum finding_severity severity = finding_growth_severity(run, group->own_bytes);
    bool is_lost = strcmp(group->sites[0]->verdict, "lost") == 0;

    return severity == FINDING_CRITICAL && finding_has_exited(run) && !is_lost ? FINDING_WARNING
                                                                               : severity;
}

static bool goes_on(const struct leak *leak)
{
    return strcmp(leak->pattern, "steady") == 0 || strcmp(leak->pattern, "late") == 0;
}

static int read_leaks(const struct finding_run *run, struct leaks *leaks, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = finding_prepare(
        run,
        /* Of most leaked blocks, the same stack has freed others. */
        "WITH stacks AS MATERIALIZED (SELECT call_site_id, 2 * total(leaked_blocks) FILTER"
        " (WHERE leaked_blocks < allocated_blocks) >= total(leaked_blocks) AS free_others"
        " FROM _leaked_stacks WHERE process_id = ?1 AND rule_id IS NULL GROUP BY call_site_id)"
        " SELECT function, source, line, module, call_site_id, leaked_bytes,"
        " leaked_blocks, leaked_first_ns, leaked_last_ns, pattern, leaked_bytes_margin,"
        " share_of_site < 1 AND (SELECT free_others FROM stacks AS s"
        " WHERE s.call_site_id IS leaks.call_site_id),"
        " usually_freed_in, verdict FROM leaks WHERE process_id = ?1 AND suppressed_by IS NULL LIMIT ?2",
        &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 2, MAX_LEAKS);
    while ((rc = rundb_step(&run->query->database, stmt, err)) == 1 && leaks->n < MAX_LEAKS) {
        struct leak *leak = &leaks->list[leaks->n++];

        finding_format_place(stmt, 0, leak->place);
        leak->site_id = sqlite3_column_int64(stmt, 4);
        leak->bytes = sqlite3_column_int64(stmt, 5);
        leak->blocks = sqlite3_column_int64(stmt, 6);
        leak->first_ns = sqlite3_column_int64(stmt, 7);
        leak->last_ns = sqlite3_column_int64(stmt, 8);
        (void)snprintf(leak->pattern, sizeof(leak->pattern), "%s", rundb_text(stmt, 9));
        (void)snprintf(leak->verdict, sizeof(leak->verdict), "%s", rundb_text(stmt, 13));
        leak->margin =
            sqlite3_column_type(stmt, 10) == SQLITE_NULL ? -1 : sqlite3_column_double(stmt, 10);
        /* The label of a place without a line is only a file: no help. */
        if (sqlite3_column_int(stmt, 11) && strchr(rundb_text(stmt, 12), ' '))
            finding_format_label(rundb_text(stmt, 12), leak->freed_in);
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

/* The first and the last block at the same times, and the same number of blocks or a multiple:
 * parts of one object. */
static bool leak_together(const struct finding_run *run, const struct leak *a, const struct leak *b)
{
    int64_t near_ns = (int64_t)(run->duration_ns / 100);
    int64_t most = a->blocks > b->blocks ? a->blocks : b->blocks;
    int64_t least = a->blocks > b->blocks ? b->blocks : a->blocks;
    int64_t times = least > 0 ? (most + least / 2) / least : 0;

    /* The log may end between the parts of some objects. */
    return least > 1 && times <= MAX_MULTIPLE && llabs(most - times * least) <= most / 100
           && llabs(a->first_ns - b->first_ns) <= near_ns
           && llabs(a->last_ns - b->last_ns) <= near_ns;
}

static void take(struct leaks *leaks, size_t i, struct leak_group *group)
{
    const struct leak *leak = &leaks->list[i];

    group->bytes += leak->bytes;
    group->blocks += leak->blocks;
    group->square =
        group->square < 0 || leak->margin < 0 ? -1 : group->square + leak->margin * leak->margin;
    group->sites[group->n++] = leak;
    leaks->is_reported[i] = true;
}

/* Leaks are sorted by weight, so the first of a group is its largest. */
static struct leak_group group_of(const struct finding_run *run, struct leaks *leaks, size_t first)
{
    struct leak_group group = {0};

    take(leaks, first, &group);
    for (size_t i = first + 1; i < leaks->n && group.n < MAX_TOGETHER; i++)
        if (!leaks->is_reported[i] && goes_on(&leaks->list[i])
            && leak_together(run, &leaks->list[first], &leaks->list[i]))
            take(leaks, i, &group);
    return group;
}

/* What became of blocks that were not freed, without the verb. */
static const char *what_is_left(const struct finding_run *run)
{
    static const struct {
        const char *end_kind, *words;
    } list[] = {
        {"exit", "never freed"},
        {"running", "live now"},
        {"detached", "live when the recording was detached"},
        {"unseen", "live where the log ends"},
        {"signal", "live when a signal ended the program"},
    };

    const char *end = summary_text(run->numbers, "end_kind");

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strcmp(list[i].end_kind, end) == 0)
            return list[i].words;
    return "live when the program ended";
}

static const char *verb(const struct finding_run *run, int64_t blocks)
{
    bool is_running = strcmp(summary_text(run->numbers, "end_kind"), "running") == 0;

    return blocks == 1 ? is_running ? "is" : "was" : is_running ? "are" : "were";
}

static const char *format_bytes(const struct leak_group *group, char *ret_text)
{
    return estimate_format_bytes(
        group->bytes, group->square < 0 ? -1 : estimate_margin(true, group->square), ret_text);
}

/* ", 1.2 MiB/s"; "" for a time too short for a rate. */
static const char *format_rate(const struct leak_group *group, char ret_text[64])
{
    int64_t time_ns = group->sites[0]->last_ns - group->sites[0]->first_ns;
    char text[UNITS_TEXT_BYTES];

    ret_text[0] = '\0';
    if (time_ns >= 1000000000)
        (void)snprintf(ret_text, 64, ", %s",
                       units_format_rate((double)group->bytes * 1e9 / (double)time_ns, text));
    return ret_text;
}

/* Once, in the first finding about leaks. */
static void append_reach(const struct finding_run *run, const struct leak *leak,
                         struct finding *finding)
{
    if (*leak->verdict)
        return;
    finding_append(finding, finding_has_exited(run)
                                ? " Whether the program could still reach them is not known "
                                  "(record with --heap-image=exit)."
                                : " Whether the program can still reach them is not known.");
}

/* "call_site_id IN (6, 7)" */
static void format_sites(const struct leak_group *group, char *ret_sql, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < group->n && used < size; i++)
        used += (size_t)snprintf(ret_sql + used, size - used, "%s%" PRId64,
                                 i ? ", " : "call_site_id IN (", group->sites[i]->site_id);
    (void)strncat(ret_sql, ")", size - strlen(ret_sql) - 1);
}

/* Forked workers leak at the same call sites: the finding is about all of them. */
static int add_other_processes(const struct finding_run *run, struct leak_group *group,
                               struct error *err)
{
    struct sqlite3_stmt *stmt;
    char sites[SITES_BYTES];
    char sql[SITES_BYTES + 192];
    int rc;

    group->n_processes = 1;
    group->own_bytes = group->bytes;
    group->own_blocks = group->blocks;
    format_sites(group, sites, sizeof(sites));
    (void)snprintf(sql, sizeof(sql),
                   "SELECT count(DISTINCT process_id), sum(leaked_bytes), sum(leaked_blocks)"
                   " FROM site_leaks WHERE rule_id IS NULL AND %s",
                   sites);
    rc = rundb_prepare(&run->query->database, sql, &stmt, err);
    if (rc != 0)
        return rc;
    rc = rundb_step(&run->query->database, stmt, err);
    /* a few blocks of others are not worth a mention */
    if (rc == 1 && group->own_bytes > 0
        && sqlite3_column_int64(stmt, 1) / 11 >= group->own_bytes / 10) {
        group->n_processes = sqlite3_column_int64(stmt, 0);
        group->bytes = sqlite3_column_int64(stmt, 1);
        group->blocks = sqlite3_column_int64(stmt, 2);
        group->square *= (double)group->bytes / (double)group->own_bytes;
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

/* Where the numbers of the sentence come from. */
static void lead_to_leak(const struct finding_run *run, const struct leak_group *group,
                         struct finding *finding)
{
    char sites[SITES_BYTES];

    finding_lead(run, finding, "leaks-by-stack", NULL, group->sites[0]->site_id);
    format_sites(group, sites, sizeof(sites));
    if (group->n_processes > 1) {
        (void)snprintf(finding->options, sizeof(finding->options), "--site %" PRId64,
                       group->sites[0]->site_id);
        (void)snprintf(finding->sql, sizeof(finding->sql), "SELECT * FROM leaks WHERE %s", sites);
    } else {
        finding_show_sql(run, finding, "leaks", " AND %s", sites);
    }
    (void)strncat(finding->options, " --stacks",
                  sizeof(finding->options) - strlen(finding->options) - 1);
}

static void find_leak(const struct finding_run *run, const struct leaks *leaks,
                      const struct leak_group *group)
{
    const struct leak *first = group->sites[0];
    bool is_late = strcmp(first->pattern, "late") == 0;
    char bytes[ESTIMATE_TEXT_BYTES];
    char own[UNITS_TEXT_BYTES];
    char blocks[UNITS_TEXT_BYTES];
    char rate[64];
    struct finding *finding =
        finding_add(run, severity_of_leak(run, group), finding_share_of_peak(run, group->own_bytes),
                    group->bytes, group->blocks);

    finding->kind = FINDING_OF_LEAKS;
    finding_append(finding, "%s in %s from %s", format_bytes(group, bytes),
                   units_format_counted(group->blocks, "block", blocks), first->place);
    for (size_t i = 1; i < group->n && i < 3; i++)
        finding_append(finding, ", %s", group->sites[i]->place);
    if (group->n > 3)
        finding_append(finding, " and %zu more call site%s", group->n - 3,
                       group->n == 4 ? "" : "s");
    if (group->n > 1)
        finding_append(finding, ", which belong together,");
    if (group->n_processes > 1)
        finding_append(finding, " in %" PRId64 " processes", group->n_processes);
    finding_append(finding, " %s %s", verb(run, group->blocks), what_is_left(run));
    if (group->n_processes > 1)
        finding_append(finding, ", %s of it in this process",
                       units_format_bytes(group->own_bytes, own));
    finding_append(finding, "; they came %s%s.",
                   is_late ? "in the second half of the run, until its end" : "throughout the run",
                   format_rate(group, rate));
    if (*first->verdict)
        finding_append(finding, " At the last heap image they were %s.", first->verdict);
    if (*first->freed_in)
        finding_append(finding, " Other blocks of the same stacks are freed in %s.",
                       first->freed_in);
    if (leaks->reported_bytes == 0)
        append_reach(run, first, finding);
    lead_to_leak(run, group, finding);
}

/* How the largest of the leaks that do not go on came. */
static const char *how_it_came(const struct leak *leak)
{
    static const struct {
        const char *pattern, *words;
    } list[] = {
        {"steady", "they came throughout the run"},
        {"late", "they came in the second half of the run"},
        {"burst", "most of them came at one time"},
        {"plateau", "they stopped growing during the run"},
        {"saw tooth", "new ones replaced old ones"},
        {"once", "allocated once"},
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strcmp(list[i].pattern, leak->pattern) == 0)
            return list[i].words;
    return "recorded too seldom to know how they came";
}

/* All leaks without a finding of their own. */
static void find_other_leaks(const struct finding_run *run, const struct leaks *leaks)
{
    int64_t bytes = finding_number(run, "leaked_bytes") - finding_number(run, "suppressed_bytes")
                    - leaks->reported_bytes;
    int64_t blocks = finding_number(run, "leaked_blocks") - finding_number(run, "suppressed_blocks")
                     - leaks->reported_blocks;
    const struct leak *largest = NULL;
    char text[4][UNITS_TEXT_BYTES];
    struct finding *finding;

    for (size_t i = 0; i < leaks->n; i++)
        if (!leaks->is_reported[i] && (!largest || leaks->list[i].bytes > largest->bytes))
            largest = &leaks->list[i];
    if (!largest || bytes <= 0 || blocks <= 0)
        return;
    finding = finding_add(run, FINDING_INFO, finding_share_of_peak(run, bytes), bytes, blocks);
    finding->kind = FINDING_OF_LEAKS;
    finding_append(finding, "%s%s in %s %s %s", units_format_bytes(bytes, text[0]),
                   leaks->reported_bytes ? " more" : "",
                   units_format_counted(blocks, "block", text[1]), verb(run, blocks),
                   what_is_left(run));
    if (blocks == 1)
        finding_append(finding, ": from %s.", largest->place);
    else if (largest->blocks == blocks)
        finding_append(finding, ", all from %s: %s.", largest->place, how_it_came(largest));
    else
        finding_append(finding, ", the largest part from %s: %s in %s, %s.", largest->place,
                       units_format_bytes(largest->bytes, text[2]),
                       units_format_counted(largest->blocks, "block", text[3]),
                       how_it_came(largest));
    if (leaks->reported_bytes == 0)
        append_reach(run, largest, finding);
    finding_lead(run, finding, "leaks", NULL, 0);
    finding_show_sql(run, finding, "leaks", " AND suppressed_by IS NULL");
}

static int find_leaks(const struct finding_run *run, struct leaks *leaks, struct error *err)
{
    int64_t leaked = finding_number(run, "leaked_bytes") - finding_number(run, "suppressed_bytes");
    size_t n_own = 0;
    int rc = leaked > 0 ? read_leaks(run, leaks, err) : 0;

    for (size_t i = 0; rc == 0 && i < leaks->n && n_own < MAX_OWN_LEAKS; i++) {
        struct leak_group group;

        if (leaks->is_reported[i] || !goes_on(&leaks->list[i]))
            continue;
        group = group_of(run, leaks, i);
        if (n_own > 0 && group.bytes < leaked / 50) { /* not worth a line beside the others */
            for (size_t k = 0; k < group.n; k++)
                leaks->is_reported[group.sites[k] - leaks->list] = false;
            break;
        }
        rc = add_other_processes(run, &group, err);
        if (rc == 0)
            find_leak(run, leaks, &group);
        leaks->reported_bytes += group.own_bytes;
        leaks->reported_blocks += group.own_blocks;
        n_own++;
    }
    if (rc == 0)
        find_other_leaks(run, leaks);
    return rc;
}

/* ---- growth ---- */

static bool is_reported(const struct leaks *leaks, int64_t site_id)
{
    for (size_t i = 0; i < leaks->n; i++)
        if (leaks->is_reported[i] && leaks->list[i].site_id == site_id)
            return true;
    return false;
}

/* What a program builds as it starts grows for all of a run of less than a second. */
static const double START_NS = 1e9;

/* Without call sites whose leaks are all suppressed. */
static const char growth_sql[] =
    "SELECT function, source, line, module, call_site_id, grown_bytes, from_bytes, to_bytes,"
    " bytes_per_s FROM growth WHERE process_id = ?1 AND pattern IN ('steady', 'late')"
    " AND ifnull(call_site_id, -1) NOT IN (SELECT ifnull(call_site_id, -1) FROM site_leaks"
    " WHERE process_id = ?1 GROUP BY call_site_id HAVING min(rule_id IS NOT NULL)) LIMIT 8";

/* What rises during the run although it is freed at its end. */
static void find_growth_row(const struct finding_run *run, struct sqlite3_stmt *row)
{
    int64_t grown = sqlite3_column_int64(row, 5);
    double rate = sqlite3_column_double(row, 8);
    int64_t site_id = sqlite3_column_int64(row, 4);
    char place[FINDING_PLACE_BYTES];
    char text[3][UNITS_TEXT_BYTES];
    enum finding_severity severity = finding_growth_severity(run, grown);
    struct finding *finding = finding_add(
        run, finding_has_exited(run) && severity == FINDING_CRITICAL ? FINDING_WARNING : severity,
        finding_share_of_peak(run, grown), grown, -1);

    finding_format_place(row, 0, place);
    finding_append(finding, "%s keeps growing: from %s to %s", place,
                   units_format_bytes(sqlite3_column_int64(row, 6), text[0]),
                   units_format_bytes(sqlite3_column_int64(row, 7), text[1]));
    if (rate > 0)
        finding_append(finding, ", %s", units_format_rate(rate, text[2]));
    finding_append(finding, "; a longer run needs more.");
    finding_lead(run, finding, "growth", NULL, site_id);
    finding_show_sql(run, finding, "growth", " AND call_site_id IS %" PRId64, site_id);
}

static int find_growth(const struct finding_run *run, const struct leaks *leaks, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    size_t n = 0;
    int rc;

    if (finding_has_exited(run) && run->duration_ns < START_NS)
        return 0;
    rc = finding_prepare(run, growth_sql, &stmt, err);
    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&run->query->database, stmt, err)) == 1 && n < 2) {
        if (sqlite3_column_int64(stmt, 5) < 64 * FINDING_KIB
            || sqlite3_column_int64(stmt, 5) < run->peak_bytes / 20)
            break;
        if (is_reported(leaks, sqlite3_column_int64(stmt, 4)))
            continue;
        find_growth_row(run, stmt);
        n++;
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

int leak_findings_add(const struct finding_run *run, struct error *err)
{
    struct leaks *leaks = calloc(1, sizeof(*leaks));
    int rc =
        leaks ? find_leaks(run, leaks, err) : error_set(err, ERROR_NOMEM, "no memory for leaks");

    if (rc == 0)
        rc = find_growth(run, leaks, err);
    free(leaks);
    return rc;
}
