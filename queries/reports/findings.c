/* SPDX-License-Identifier: MIT */
#include "queries/reports/findings.h"

#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "lib/base/units.h"
#include "queries/core/query.h"
#include "queries/render/wrap.h"
#include "queries/reports/image_findings.h"
#include "queries/reports/leak_findings.h"
#include "queries/reports/resident_findings.h"
#include "queries/reports/summary_numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    INDENT = 12
};

/* Assumed cost of one pair of malloc and free, and speed of a copy. */
static const double pair_ns = 50;
static const double copied_bytes_per_ns = 5;

static double share_of_run(const struct finding_run *run, double time_ns)
{
    return run->duration_ns > 0 ? time_ns / run->duration_ns : 0;
}

/* ---- heaps ---- */

struct heap {
    char at[8]; /* "peak" or "end" */
    bool is_of_glibc;
    int64_t extent, live, slack, overhead, holes, free_pages, top;
};

/* The last column: resident bytes of all heaps, for the end if a sample with parts is near. */
static const char heaps_sql[] =
    "SELECT n.reason, sum(h.extent_bytes), sum(h.live_bytes), sum(h.slack_bytes),"
    " sum(h.overhead_bytes), sum(h.hole_bytes), sum(h.free_page_bytes),"
    /* glibc may have returned the top of an arena already */
    " total(h.top_bytes) FILTER (WHERE e.kind <> 'arena'),"
    " e.allocator IS 'glibc' AS is_of_glibc, (SELECT m.heap_resident_bytes FROM memory_samples AS m"
    "  WHERE m.process_id = ?1 AND m.heap_resident_bytes IS NOT NULL AND n.reason = 'end'"
    "  AND m.at_ns >= n.at_ns - max(1000000000, (SELECT end_ns - start_ns FROM processes"
    "   WHERE process_id = ?1) / 20) ORDER BY m.at_ns DESC LIMIT 1)"
    " FROM snapshots AS n JOIN heap_states AS h ON h.snapshot_id = n.snapshot_id"
    " JOIN heaps AS e ON e.heap_id = h.heap_id WHERE n.process_id = ?1"
    " AND n.reason IN ('peak', 'end') AND h.top_bytes IS NOT NULL"
    " GROUP BY n.reason, is_of_glibc";

/* ---- the first row of a view ---- */

struct first_row {
    char place[FINDING_PLACE_BYTES];
    int64_t numbers[2];
    double share;
};

/* Of a row with two numbers and a share. Returns 1, 0 if the view has no row, or an error. */
static int read_first_row(const struct finding_run *run, const char *columns, const char *view,
                          struct first_row *row, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    char sql[256];
    int rc;

    (void)snprintf(
        sql, sizeof(sql),
        "SELECT function, source, line, module, %s FROM %s WHERE process_id = ?1 LIMIT 1", columns,
        view);
    rc = finding_first_row(run, sql, &stmt, err);
    if (rc != 1)
        return rc;
    finding_format_place(stmt, 0, row->place);
    row->numbers[0] = sqlite3_column_int64(stmt, 4);
    row->numbers[1] = sqlite3_column_int64(stmt, 5);
    row->share = sqlite3_column_double(stmt, 6);
    sqlite3_finalize(stmt);
    return 1;
}

static int read_number(const struct finding_run *run, const char *sql, double *ret_number,
                       struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = finding_first_row(run, sql, &stmt, err);

    *ret_number = 0;
    if (rc != 1)
        return rc;
    *ret_number = sqlite3_column_double(stmt, 0);
    sqlite3_finalize(stmt);
    return 0;
}

/* The call site that pins most pages at that time. */
static int append_who_pins(const struct finding_run *run, const struct heap *heap,
                           struct finding *finding, struct error *err)
{
    struct first_row row;
    char view[64];
    char text[2][UNITS_TEXT_BYTES];
    int rc;

    (void)snprintf(view, sizeof(view), "(SELECT * FROM pinning WHERE at = '%s')", heap->at);
    rc = read_first_row(run, "would_free_bytes, usable_bytes, 0", view, &row, err);
    if (rc != 1)
        return rc;
    /* Pages that are mostly full are no waste. */
    if (row.numbers[0] > heap->holes / 20 && row.numbers[0] > 2 * row.numbers[1])
        finding_append(finding, " %s keeps %s of pages in use with %s of blocks.", row.place,
                       units_format_bytes(row.numbers[0], text[0]),
                       units_format_bytes(row.numbers[1], text[1]));
    return 0;
}

/* No purge empties a page with a live block: says so if most free memory is in such pages. */
static int append_advice(const struct finding_run *run, const struct heap *heap, bool has_decay,
                         struct finding *finding, struct error *err)
{
    int64_t pages = heap->free_pages + heap->top;
    /* The heap may have shrunk since the sample that the finding is about. */
    bool is_in_holes = heap->holes > pages && heap->holes >= finding->bytes / 2;
    const char *decay = has_decay ? summary_text(run->numbers, "decay_advice") : "";
    char text[3][UNITS_TEXT_BYTES];

    if (is_in_holes)
        finding_append(finding,
                       " At the %s %s of its free memory were holes between live blocks, which no "
                       "purge gives back, and %s were free pages.",
                       heap->at, units_format_bytes(heap->holes, text[0]),
                       units_format_bytes(pages, text[1]));
    if (!is_in_holes || pages > 0)
        finding_append(finding, " To give free pages back, %s%s%s.",
                       summary_text(run->numbers, "release_advice"), *decay ? "; or " : "", decay);
    return is_in_holes ? append_who_pins(run, heap, finding, err) : 0;
}

/* kept: the finding about free memory that stays resident; NULL: none. At the end of a program that
 * did not exit it is the same memory: then there is one finding about it. If most is in holes, the
 * blocks that pin it explain more. */
static int find_fragmentation(const struct finding_run *run, const struct heap *heap,
                              struct finding *kept, struct error *err)
{
    int64_t unused = heap->holes + heap->free_pages;
    bool is_end = strcmp(heap->at, "end") == 0;
    bool is_over = finding_has_exited(run) && is_end; /* too late to matter */
    bool is_same = kept && is_end && !is_over;
    const char *decay = strcmp(summary_text(run->numbers, "allocator"), "glibc") == 0
                            ? summary_text(run->numbers, "decay_advice")
                            : "";
    char page[32];
    char text[3][UNITS_TEXT_BYTES];
    struct finding *finding;
    int rc = 0;

    if (is_same && heap->free_pages >= heap->holes)
        return append_who_pins(run, heap, kept, err);
    if (is_same && !heap->is_of_glibc)
        return 0;
    finding = is_same ? kept : finding_add(run, FINDING_INFO, 0, 0, 0);
    finding_begin(finding, unused > 4 * FINDING_MIB && !is_over ? FINDING_WARNING : FINDING_INFO,
                  finding_share_of_peak(run, unused), unused, -1);
    finding_append(
        finding, "Fragmentation: at the %s %s of the heap's %s were free between live blocks.",
        heap->at, units_format_bytes(unused, text[0]), units_format_bytes(heap->extent, text[1]));
    if (heap->is_of_glibc && heap->free_pages > heap->holes)
        finding_append(finding, " malloc_trim(0) returns %s of it, which are whole pages%s%s.",
                       units_format_bytes(heap->free_pages, text[2]), *decay ? "; or " : "", decay);
    (void)snprintf(page, sizeof(page), "pinning?alive_at=%s", heap->at);
    finding_lead(run, finding, "pinning", page, 0);
    finding_show_sql(run, finding, "pinning", " AND at = '%s'", heap->at);
    if (!heap->is_of_glibc)
        rc = append_advice(run, heap, false, finding, err);
    return rc == 0 && (heap->is_of_glibc || heap->free_pages >= heap->holes)
               ? append_who_pins(run, heap, finding, err)
               : rc;
}

static void find_untrimmed(const struct finding_run *run, const struct heap *heap)
{
    char text[2][UNITS_TEXT_BYTES];
    struct finding *finding =
        finding_add(run, FINDING_INFO, finding_share_of_peak(run, heap->top), heap->top, -1);

    finding_append(
        finding,
        "At the end %s of the heap's %s were free above the last live block: malloc_trim(0) returns them.",
        units_format_bytes(heap->top, text[0]), units_format_bytes(heap->extent, text[1]));
    finding_lead(run, finding, "fragmentation", "fragmentation?alive_at=end", 0);
    finding_show_sql(run, finding, "fragmentation", " AND at = 'end'");
}

static void find_small_blocks(const struct finding_run *run, const struct heap *heap)
{
    int64_t lost = heap->slack + heap->overhead;
    char text[UNITS_TEXT_BYTES];
    char share[UNITS_TEXT_BYTES];
    struct finding *finding;

    if (strcmp(heap->at, "peak") != 0 || lost < FINDING_MIB || lost < heap->live / 4
        || heap->live <= 0)
        return;
    finding = finding_add(run, FINDING_INFO, finding_share_of_peak(run, lost), lost, -1);
    finding_append(
        finding,
        "Blocks are small: at the peak headers and rounded sizes took %s, %s of the bytes in use. "
        "Allocate several objects in one block.",
        units_format_bytes(lost, text),
        units_format_share((double)lost / (double)heap->live, share));
    finding_lead_to_view(run, finding, "size-histogram");
}

/* Unused memory worth a finding. A heap that the program has emptied before it exits is not.
 * Free pages of another allocator than glibc's may not be resident: is_kept says that much was. */
static bool is_fragmented(const struct finding_run *run, const struct heap *heap, bool is_kept)
{
    int64_t unused = heap->holes + heap->free_pages;
    bool is_last = strcmp(heap->at, "end") == 0 && !finding_has_exited(run);

    if (heap->extent < FINDING_MIB)
        return false;
    if (!heap->is_of_glibc)
        return is_last && unused >= heap->extent / 2
               && (is_kept || !summary_is_known(run->numbers, "rss_heaps_bytes"));
    return unused >= heap->extent / 4 && (is_last || heap->live >= heap->extent / 10);
}

static int64_t at_most(int64_t bytes, int64_t limit)
{
    return bytes < limit ? bytes : limit > 0 ? limit : 0;
}

/* malloc_trim may have given free pages back already; holes are resident. */
static void leave_out_absent(struct heap *heap, int64_t resident)
{
    int64_t unused = resident - heap->live - heap->slack - heap->overhead - heap->holes;

    heap->free_pages = at_most(heap->free_pages, unused);
    heap->top = at_most(heap->top, unused - heap->free_pages);
}

static struct heap read_heap(struct sqlite3_stmt *row)
{
    struct heap heap = {
        .extent = sqlite3_column_int64(row, 1),
        .live = sqlite3_column_int64(row, 2),
        .slack = sqlite3_column_int64(row, 3),
        .overhead = sqlite3_column_int64(row, 4),
        .holes = sqlite3_column_int64(row, 5),
        .free_pages = sqlite3_column_int64(row, 6),
        .top = sqlite3_column_int64(row, 7),
        .is_of_glibc = sqlite3_column_int(row, 8) != 0,
    };

    (void)snprintf(heap.at, sizeof(heap.at), "%s", rundb_text(row, 0));
    if (sqlite3_column_type(row, 9) != SQLITE_NULL)
        leave_out_absent(&heap, sqlite3_column_int64(row, 9));
    return heap;
}

static int find_heaps(const struct finding_run *run, struct finding *kept, struct error *err)
{
    bool is_kept = kept != NULL;
    bool is_kept_by_glibc = strcmp(summary_text(run->numbers, "allocator"), "glibc") == 0;
    struct heap worst = {.at = ""};
    struct heap emptiest = {.at = ""}; /* most like the heap when it was kept */
    struct sqlite3_stmt *stmt = NULL;
    int rc = finding_prepare(run, heaps_sql, &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&run->query->database, stmt, err)) == 1) {
        struct heap heap = read_heap(stmt);
        int64_t unused = heap.holes + heap.free_pages;

        if (is_fragmented(run, &heap, is_kept) && unused > worst.holes + worst.free_pages)
            worst = heap;
        if (heap.is_of_glibc == is_kept_by_glibc
            && unused + heap.top > emptiest.holes + emptiest.free_pages + emptiest.top)
            emptiest = heap;
        if (!heap.is_of_glibc)
            continue;
        if (!is_kept && strcmp(heap.at, "end") == 0 && !finding_has_exited(run)
            && heap.top >= 4 * FINDING_MIB && heap.top >= heap.extent / 2
            && heap.live >= heap.extent / 10)
            find_untrimmed(run, &heap);
        find_small_blocks(run, &heap);
    }
    sqlite3_finalize(stmt);
    if (rc == 0 && kept)
        rc = append_advice(run, &emptiest, true, kept, err);
    if (rc == 0 && *worst.at)
        rc = find_fragmentation(run, &worst, kept, err);
    return rc < 0 ? rc : 0;
}

/* ---- time ---- */

static int find_temporary(const struct finding_run *run, struct error *err)
{
    double share = summary_share(run->numbers, "temporary_share");
    int64_t blocks = finding_number(run, "temporary_blocks");
    int64_t allocated = finding_number(run, "allocated_bytes");
    double share_of_bytes =
        allocated > 0 ? (double)finding_number(run, "temporary_bytes") / (double)allocated : 0;
    double cost = share_of_run(run, (double)blocks * pair_ns);
    struct finding *finding;
    struct first_row row;
    char text[3][UNITS_TEXT_BYTES];
    int rc;

    if (blocks < 1000 || share < 0.1 || (share <= 0.25 && share_of_bytes < 0.25))
        return 0;
    rc = read_first_row(run, "temporary_blocks, 0, 0", "temporary", &row, err);
    if (rc != 1)
        return rc;
    finding = finding_add(run, cost > 0.02 ? FINDING_WARNING : FINDING_INFO, cost, -1, blocks);
    finding->kind = FINDING_OF_CHURN;
    finding_append(finding,
                   "%s of all allocations, with %s of the bytes, are temporary: their thread freed "
                   "them before it made more than one other. %s allocates most of them, %s: reuse "
                   "a buffer there.",
                   units_format_share(share, text[0]), units_format_share(share_of_bytes, text[2]),
                   row.place, units_format_counted(row.numbers[0], "block", text[1]));
    finding_lead_to_view(run, finding, "temporary");
    return 0;
}

static int find_copying(const struct finding_run *run, struct error *err)
{
    int64_t copied = finding_number(run, "realloc_copied_bytes");
    double cost = share_of_run(run, (double)copied / copied_bytes_per_ns);
    struct finding *finding;
    struct first_row row;
    char text[3][UNITS_TEXT_BYTES];
    int rc;

    if (copied < FINDING_MIB || copied < finding_number(run, "allocated_bytes") / 10)
        return 0;
    rc = read_first_row(run, "copied_bytes, longest_chain, 0", "reallocs", &row, err);
    if (rc != 1)
        return rc;
    finding = finding_add(run, cost > 0.02 ? FINDING_WARNING : FINDING_INFO, cost, copied, -1);
    finding->kind = FINDING_OF_CHURN;
    finding_append(
        finding,
        "realloc copied %s, %s of it for %s, whose buffers grow in up to %s steps: reserve the "
        "size, or double it.",
        units_format_bytes(copied, text[0]), units_format_bytes(row.numbers[0], text[1]), row.place,
        units_format_count(row.numbers[1], text[2]));
    finding_lead_to_view(run, finding, "reallocs");
    return 0;
}

/* ---- the rest ---- */

static int find_peak(const struct finding_run *run, struct error *err)
{
    struct finding *finding;
    struct first_row row;
    char text[4][UNITS_TEXT_BYTES];
    int rc = read_first_row(run, "bytes, blocks, share", "peak", &row, err);

    if (rc != 1)
        return rc;
    finding = finding_add(run, FINDING_INFO, row.share, row.numbers[0], row.numbers[1]);
    finding_append(finding, "At the peak, at %s, %s held %s of %s in %s.",
                   units_format_duration(finding_number(run, "peak_ns"), text[0]), row.place,
                   units_format_share(row.share, text[1]),
                   units_format_bytes(run->peak_bytes, text[2]),
                   units_format_counted(row.numbers[1], "block", text[3]));
    finding_lead_to_view(run, finding, "peak");
    return 0;
}

static int find_bad_frees(const struct finding_run *run, struct error *err)
{
    struct finding *finding;
    struct sqlite3_stmt *stmt = NULL;
    char text[UNITS_TEXT_BYTES];
    int64_t n;
    int64_t n_reallocs;
    int rc = finding_first_row(run,
                               "SELECT count(*), total(call = 'realloc') FROM unmatched_frees"
                               " WHERE process_id = ?1 HAVING count(*) > 0",
                               &stmt, err);

    if (rc != 1)
        return rc;
    n = sqlite3_column_int64(stmt, 0);
    n_reallocs = sqlite3_column_int64(stmt, 1);
    sqlite3_finalize(stmt);
    finding = finding_add(run, FINDING_WARNING, 1, -1, n);
    finding_append(finding, "%s", units_format_counted(n, "call", text));
    if (n_reallocs == n)
        finding_append(finding, " of realloc");
    else if (n_reallocs > 0)
        finding_append(finding, " (%s of realloc)", units_format_count(n_reallocs, text));
    finding_append(
        finding, " got an address that is not a live block: a double free, an invalid free, or an "
                 "allocator that was not recorded.");
    finding_lead_to_view(run, finding, "errors");
    return 0;
}

static int find_trust(const struct finding_run *run, struct error *err)
{
    int64_t failures = finding_number(run, "failures");
    double complete = summary_share(run->numbers, "complete_share");
    double guessed;
    char text[UNITS_TEXT_BYTES];
    struct finding *finding;
    int rc;

    if (failures > 0) {
        finding = finding_add(run, FINDING_WARNING, 1, -1, failures);
        finding_append(finding, "%s failed: the program got no memory.",
                       units_format_counted(failures, "allocation", text));
        finding_lead_to_view(run, finding, "allocation-failures");
    }
    if (!summary_is_known(run->numbers, "complete_share") || complete >= 0.9)
        return 0;
    /* Stacks with steps by frame pointers. */
    rc = read_number(run,
                     "SELECT total(share) FROM unwind_quality WHERE process_id = ?1 AND"
                     " status = 'guessed'",
                     &guessed, err);
    if (rc != 0)
        return rc;
    if (guessed > (1 - complete) / 2) {
        finding = finding_add(run, FINDING_INFO, 0, -1, -1);
        finding_append(finding,
                       "%s of the allocations have stacks through code without unwind information "
                       "(as of a JIT), which were followed by frame pointers.",
                       units_format_share(guessed, text));
    } else {
        finding = finding_add(run, complete < 0.5 ? FINDING_WARNING : FINDING_INFO, 0, -1, -1);
        finding_append(finding,
                       "Only %s of the allocations have a complete stack: call trees miss callers.",
                       units_format_share(complete, text));
    }
    finding_lead_to_view(run, finding, "unwind-quality");
    return 0;
}

/* Leaks come before churn, but for leaks that are trivial and churn that costs much time. */
static int rank_of(const struct finding *finding)
{
    bool is_churn = finding->kind == FINDING_OF_CHURN;

    switch (finding->severity) {
    case FINDING_CRITICAL:
        return 0;
    case FINDING_WARNING:
        return is_churn ? 3 : 1;
    case FINDING_INFO:
        break;
    }
    if (finding->kind == FINDING_OF_LEAKS && finding->bytes >= 64 * FINDING_KIB
        && finding->cost > 0.01)
        return 2;
    return is_churn ? 5 : 4;
}

static int compare(const void *a, const void *b)
{
    const struct finding *x = a;
    const struct finding *y = b;
    int rank = rank_of(x);
    int other = rank_of(y);

    if (rank != other)
        return rank < other ? -1 : 1;
    if (x->cost > y->cost || x->cost < y->cost)
        return x->cost > y->cost ? -1 : 1;
    return strcmp(x->sentence, y->sentence);
}

static struct finding_run begin(const struct query *query, int64_t process_id,
                                const struct summary_numbers *numbers, struct findings *findings)
{
    findings->n = 0;
    return (struct finding_run){
        .query = query,
        .numbers = numbers,
        .findings = findings,
        .process_id = process_id,
        .peak_bytes = summary_number(numbers, "peak_bytes"),
        .duration_ns = (double)summary_number(numbers, "duration_ns"),
    };
}

static void sort(struct findings *findings)
{
    qsort(findings->list, findings->n, sizeof(findings->list[0]), compare);
    if (findings->n > FINDINGS_SHOWN)
        findings->n = FINDINGS_SHOWN;
}

static int find_unused(const struct finding_run *run, struct error *err)
{
    struct finding *kept = NULL;
    int rc = resident_findings_add_kept(run, &kept, err);

    if (rc == 0)
        rc = find_heaps(run, kept, err);
    return rc == 0 ? resident_findings_add_mappings(run, err) : rc;
}

int findings_collect_unused(const struct query *query, int64_t process_id,
                            const struct summary_numbers *numbers, struct findings *findings,
                            struct error *err)
{
    const struct finding_run run = begin(query, process_id, numbers, findings);
    int rc = find_unused(&run, err);

    sort(findings);
    return rc;
}

int findings_collect(const struct query *query, int64_t process_id,
                     const struct summary_numbers *numbers, struct findings *findings,
                     struct error *err)
{
    const struct finding_run run = begin(query, process_id, numbers, findings);
    int rc = leak_findings_add(&run, err);

    if (rc == 0)
        rc = image_findings_add(&run, err);
    if (rc == 0)
        rc = find_unused(&run, err);
    if (rc == 0)
        rc = find_temporary(&run, err);
    if (rc == 0)
        rc = find_copying(&run, err);
    if (rc == 0)
        rc = find_peak(&run, err);
    if (rc == 0)
        rc = find_bad_frees(&run, err);
    if (rc == 0)
        rc = find_trust(&run, err);
    sort(findings);
    return rc;
}

/* ---- output ---- */

void findings_print(const struct query *query, const struct findings *findings)
{
    static const char *const colours[] = {"\033[31m", "\033[33m", ""};
    FILE *out = query->out;
    bool is_coloured = query->style.is_coloured;
    size_t width = query->style.width > INDENT + 20 ? (size_t)query->style.width : SIZE_MAX;

    if (findings->n == 0)
        return;
    (void)fputs("\nWhat to look at\n", out);
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->list[i];
        char *command;

        (void)fprintf(out, "  %s%-8s%s  ", is_coloured ? colours[finding->severity] : "",
                      finding_severity_name(finding->severity), is_coloured ? "\033[0m" : "");
        wrap_text(finding->sentence, INDENT, INDENT, width, out);
        if (query->options->is_untrusted)
            continue;
        (void)fprintf(out, "%*s", INDENT, "");
        command = finding_command(query, finding);
        (void)fprintf(out, "%s\n", command ? command : "");
        free(command);
    }
    (void)fputs("\n", out);
}

static void put_number(const char *key, int64_t value, FILE *out)
{
    if (value < 0)
        (void)fprintf(out, ",\"%s\":null", key);
    else
        (void)fprintf(out, ",\"%s\":%" PRId64, key, value);
}

static void put_text(const char *key, const char *text, FILE *out)
{
    (void)fprintf(out, "\"%s\":", key);
    json_text_put(out, text);
}

static void put_finding(const struct query *query, const struct finding *finding, FILE *out)
{
    char *command = finding_command(query, finding);

    (void)fputs("{", out);
    put_text("severity", finding_severity_name(finding->severity), out);
    (void)fputs(",", out);
    put_text("sentence", finding->sentence, out);
    put_number("bytes", finding->bytes, out);
    put_number("blocks", finding->blocks, out);
    (void)fputs(",", out);
    put_text("command", command, out);
    (void)fputs(",", out);
    put_text("page", finding->page, out);
    (void)fputs(",", out);
    put_text("sql", finding->sql, out);
    (void)fputs("}", out);
    free(command);
}

void findings_put_json(const struct query *query, const struct findings *findings, FILE *out)
{
    (void)fputs("[", out);
    for (size_t i = 0; i < findings->n; i++) {
        (void)fputs(i ? "," : "", out);
        put_finding(query, &findings->list[i], out);
    }
    (void)fputs("]", out);
}
