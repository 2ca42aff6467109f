/* SPDX-License-Identifier: MIT */
#include "queries/reports/findings.h"

#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "lib/base/units.h"
#include "queries/core/query.h"
#include "queries/render/estimate.h"
#include "queries/render/shorten.h"
#include "queries/reports/summary_numbers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACE_BYTES = 256,
    NAME_BYTES = 160, /* of a function in a sentence */
    MAX_LEAKS = 64,   /* call sites that are examined */
    MAX_TOGETHER = 16,
    MAX_MULTIPLE = 8,
    MAX_OWN_LEAKS = 3, /* findings about one leak; the others share one */
    KIB = 1024,
    MIB = 1024 * KIB,
    INDENT = 12
};

/* Assumed cost of one pair of malloc and free, and speed of a copy. */
static const double pair_ns = 50;
static const double copied_bytes_per_ns = 5;

struct run {
    const struct query *query;
    const struct summary_numbers *numbers;
    struct findings *findings;
    int64_t process_id;
    int64_t peak_bytes;
    double duration_ns;
};

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[] = {"critical", "warning", "info"};

    return names[severity];
}

static int64_t number(const struct run *run, const char *name)
{
    return summary_number(run->numbers, name);
}

/* Of memory that rises as long as the program works. */
static enum finding_severity severity_of_growth(const struct run *run, int64_t bytes)
{
    if (bytes >= MIB && bytes > run->peak_bytes / 20)
        return FINDING_CRITICAL;
    return bytes >= 64 * KIB && bytes > run->peak_bytes / 100 ? FINDING_WARNING : FINDING_INFO;
}

static double share_of_peak(const struct run *run, int64_t bytes)
{
    return run->peak_bytes > 0 ? (double)bytes / (double)run->peak_bytes : 0;
}

static double share_of_run(const struct run *run, double time_ns)
{
    return run->duration_ns > 0 ? time_ns / run->duration_ns : 0;
}

/* ---- one finding ---- */

static struct finding *add(const struct run *run, enum finding_severity severity, double cost,
                           int64_t bytes, int64_t blocks)
{
    struct findings *findings = run->findings;
    /* The last one is overwritten rather than the memory behind it. */
    struct finding *finding =
        &findings->list[findings->n < FINDINGS_CAPACITY ? findings->n++ : FINDINGS_CAPACITY - 1];

    *finding =
        (struct finding){.severity = severity, .cost = cost, .bytes = bytes, .blocks = blocks};
    return finding;
}

static void MTRACE_PRINTF(2, 3) append(struct finding *finding, const char *format, ...)
{
    size_t used = strlen(finding->sentence);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(finding->sentence + used, sizeof(finding->sentence) - used, format, arguments);
    va_end(arguments);
}

/* site_id: NULL-like 0 for none. page: of the server; NULL: named as the command. */
static void lead(const struct run *run, struct finding *finding, const char *command,
                 const char *page, int64_t site_id)
{
    char site[48] = "";

    (void)snprintf(finding->command, sizeof(finding->command), "%s", command);
    if (site_id > 0)
        (void)snprintf(finding->options, sizeof(finding->options), "--site %" PRId64, site_id);
    if (site_id > 0)
        (void)snprintf(site, sizeof(site), "&site=%" PRId64, site_id);
    (void)snprintf(finding->page, sizeof(finding->page), "%s%sprocess=%" PRId64 "%s",
                   page ? page : command, page && strchr(page, '?') ? "&" : "?", run->process_id,
                   site);
    if (run->query->style.has_process) {
        size_t used = strlen(finding->options);

        (void)snprintf(finding->options + used, sizeof(finding->options) - used,
                       "%s--process %" PRId64, used ? " " : "", run->process_id);
    }
}

/* "SELECT * FROM view WHERE process_id = 1", and what else is given. */
static void MTRACE_PRINTF(4, 5) show_sql(const struct run *run, struct finding *finding,
                                         const char *view, const char *format, ...)
{
    va_list arguments;
    size_t used;

    (void)snprintf(finding->sql, sizeof(finding->sql),
                   "SELECT * FROM %s WHERE process_id = %" PRId64, view, run->process_id);
    used = strlen(finding->sql);
    va_start(arguments, format);
    (void)vsnprintf(finding->sql + used, sizeof(finding->sql) - used, format, arguments);
    va_end(arguments);
}

/* Names come from untrusted files: no control character reaches a terminal. */
static void clean(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

/* "function (file.c:12)" of four columns of a row: function, source, line, module. */
static void format_place(struct sqlite3_stmt *row, int column, char ret_text[PLACE_BYTES])
{
    const char *function = rundb_text(row, column);
    const char *source = shorten_path(rundb_text(row, column + 1));
    const char *module = shorten_path(rundb_text(row, column + 3));
    char name[NAME_BYTES];

    shorten_function(function, name, sizeof(name));
    if (*source && sqlite3_column_type(row, column + 2) != SQLITE_NULL)
        (void)snprintf(ret_text, PLACE_BYTES, "%s%s%.60s:%d%s", name, *name ? " (" : "", source,
                       sqlite3_column_int(row, column + 2), *name ? ")" : "");
    else if (*name && *module && strncmp(name, module, strlen(module)) != 0)
        (void)snprintf(ret_text, PLACE_BYTES, "%s (%.60s)", name, module);
    else
        (void)snprintf(ret_text, PLACE_BYTES, "%s",
                       *name     ? name
                       : *module ? module
                                 : "an unknown function");
    clean(ret_text);
}

/* "function (file.c:12)" of "function /path/file.c:12", a label of a call site. */
static void format_label(const char *label, char ret_text[PLACE_BYTES])
{
    const char *path = strrchr(label, ' ');
    char function[1024];
    char name[NAME_BYTES];

    (void)snprintf(function, sizeof(function), "%.*s", path ? (int)(path - label) : 0, label);
    shorten_function(function, name, sizeof(name));
    (void)snprintf(ret_text, PLACE_BYTES, "%s%s%.60s%s", name, *name ? " (" : "",
                   shorten_path(path ? path + 1 : label), *name ? ")" : "");
    clean(ret_text);
}

static int prepare(const struct run *run, const char *sql, struct sqlite3_stmt **ret_stmt,
                   struct error *err)
{
    int rc = rundb_prepare(&run->query->database, sql, ret_stmt, err);

    if (rc == 0)
        sqlite3_bind_int64(*ret_stmt, 1, run->process_id);
    return rc;
}

/* The statement's first row: 1, none: 0, or an error. Finalize the statement after 1. */
static int first_row(const struct run *run, const char *sql, struct sqlite3_stmt **ret_stmt,
                     struct error *err)
{
    int rc = prepare(run, sql, ret_stmt, err);

    if (rc == 0)
        rc = rundb_step(&run->query->database, *ret_stmt, err);
    if (rc != 1)
        sqlite3_finalize(*ret_stmt);
    return rc;
}

/* ---- leaks ---- */

struct leak {
    int64_t site_id, bytes, blocks, first_ns, last_ns;
    double margin; /* of bytes; negative: exact */
    char pattern[16];
    char place[PLACE_BYTES];
    char freed_in[PLACE_BYTES]; /* where most other blocks of its stacks are freed; or "" */
};

/* Leaks that one finding is about. */
struct leak_group {
    int64_t bytes, blocks;
    double square;                          /* of the margin of bytes; negative: exact */
    const struct leak *sites[MAX_TOGETHER]; /* the largest first */
    size_t n;
};

struct leaks {
    struct leak list[MAX_LEAKS];
    bool is_reported[MAX_LEAKS];
    size_t n;
    int64_t reported_bytes, reported_blocks;
};

static bool goes_on(const struct leak *leak)
{
    return strcmp(leak->pattern, "steady") == 0 || strcmp(leak->pattern, "late") == 0;
}

static int read_leaks(const struct run *run, struct leaks *leaks, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = prepare(
        run,
        "SELECT function, source, line, module, call_site_id, leaked_bytes,"
        " leaked_blocks, leaked_first_ns, leaked_last_ns, pattern, leaked_bytes_margin,"
        " share_of_site, usually_freed_in FROM leaks WHERE process_id = ?1 AND suppressed_by IS NULL LIMIT ?2",
        &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 2, MAX_LEAKS);
    while ((rc = rundb_step(&run->query->database, stmt, err)) == 1 && leaks->n < MAX_LEAKS) {
        struct leak *leak = &leaks->list[leaks->n++];

        format_place(stmt, 0, leak->place);
        leak->site_id = sqlite3_column_int64(stmt, 4);
        leak->bytes = sqlite3_column_int64(stmt, 5);
        leak->blocks = sqlite3_column_int64(stmt, 6);
        leak->first_ns = sqlite3_column_int64(stmt, 7);
        leak->last_ns = sqlite3_column_int64(stmt, 8);
        (void)snprintf(leak->pattern, sizeof(leak->pattern), "%s", rundb_text(stmt, 9));
        leak->margin =
            sqlite3_column_type(stmt, 10) == SQLITE_NULL ? -1 : sqlite3_column_double(stmt, 10);
        /* The label of a place without a line is only a file: no help. */
        if (sqlite3_column_double(stmt, 11) < 1 && strchr(rundb_text(stmt, 12), ' '))
            format_label(rundb_text(stmt, 12), leak->freed_in);
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

/* The first and the last block at the same times, and the same number of blocks or a multiple:
 * parts of one object. */
static bool leak_together(const struct run *run, const struct leak *a, const struct leak *b)
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
static struct leak_group group_of(const struct run *run, struct leaks *leaks, size_t first)
{
    struct leak_group group = {0};

    take(leaks, first, &group);
    for (size_t i = first + 1; i < leaks->n && group.n < MAX_TOGETHER; i++)
        if (!leaks->is_reported[i] && goes_on(&leaks->list[i])
            && leak_together(run, &leaks->list[first], &leaks->list[i]))
            take(leaks, i, &group);
    return group;
}

static bool has_exited(const struct run *run)
{
    return strcmp(summary_text(run->numbers, "end_kind"), "exit") == 0;
}

/* What became of blocks that were not freed, without the verb. */
static const char *what_is_left(const struct run *run)
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

static const char *verb(const struct run *run, int64_t blocks)
{
    bool is_running = strcmp(summary_text(run->numbers, "end_kind"), "running") == 0;

    return blocks == 1 ? is_running ? "is" : "was" : is_running ? "are" : "were";
}

static const char *format_bytes(const struct leak_group *group, char *ret_text)
{
    return estimate_format_bytes(
        group->bytes, group->square < 0 ? -1 : estimate_margin(true, group->square), ret_text);
}

/* ", 1.2 MiB a second"; "" for a time too short for a rate. */
static const char *format_rate(const struct leak_group *group, char ret_text[64])
{
    int64_t time_ns = group->sites[0]->last_ns - group->sites[0]->first_ns;
    char text[UNITS_TEXT_BYTES];

    ret_text[0] = '\0';
    if (time_ns >= 1000000000)
        (void)snprintf(
            ret_text, 64, ", %s a second",
            units_format_bytes((int64_t)((double)group->bytes * 1e9 / (double)time_ns), text));
    return ret_text;
}

static void find_leak(const struct run *run, const struct leak_group *group)
{
    const struct leak *first = group->sites[0];
    bool is_late = strcmp(first->pattern, "late") == 0;
    char bytes[ESTIMATE_TEXT_BYTES];
    char blocks[UNITS_TEXT_BYTES];
    char rate[64];
    struct finding *finding = add(run, severity_of_growth(run, group->bytes),
                                  share_of_peak(run, group->bytes), group->bytes, group->blocks);

    append(finding, "%s in %s from %s", format_bytes(group, bytes),
           units_format_counted(group->blocks, "block", blocks), first->place);
    for (size_t i = 1; i < group->n && i < 3; i++)
        append(finding, ", %s", group->sites[i]->place);
    if (group->n > 3)
        append(finding, " and %zu more call sites", group->n - 3);
    if (group->n > 1)
        append(finding, ", which belong together,");
    append(finding, " %s %s; they came %s%s.", verb(run, group->blocks), what_is_left(run),
           is_late ? "in the second half of the run, until its end" : "throughout the run",
           format_rate(group, rate));
    if (*first->freed_in)
        append(finding, " Other blocks of the same stacks are freed in %s.", first->freed_in);
    lead(run, finding, "leaks-by-stack", NULL, first->site_id);
    (void)strncat(finding->options, " --stacks",
                  sizeof(finding->options) - strlen(finding->options) - 1);
    show_sql(run, finding, "leaks", " AND call_site_id IN (%" PRId64, first->site_id);
    for (size_t i = 1; i < group->n; i++) {
        size_t used = strlen(finding->sql);

        (void)snprintf(finding->sql + used, sizeof(finding->sql) - used, ", %" PRId64,
                       group->sites[i]->site_id);
    }
    (void)strncat(finding->sql, ")", sizeof(finding->sql) - strlen(finding->sql) - 1);
}

/* How the largest of the leaks that do not go on came. */
static const char *how_it_came(const struct leak *leak)
{
    static const struct {
        const char *pattern, *words;
    } list[] = {
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
static void find_other_leaks(const struct run *run, const struct leaks *leaks)
{
    int64_t bytes =
        number(run, "leaked_bytes") - number(run, "suppressed_bytes") - leaks->reported_bytes;
    int64_t blocks =
        number(run, "leaked_blocks") - number(run, "suppressed_blocks") - leaks->reported_blocks;
    const struct leak *largest = NULL;
    char text[4][UNITS_TEXT_BYTES];
    struct finding *finding;

    for (size_t i = 0; i < leaks->n; i++)
        if (!leaks->is_reported[i] && (!largest || leaks->list[i].bytes > largest->bytes))
            largest = &leaks->list[i];
    if (!largest || bytes <= 0 || blocks <= 0)
        return;
    finding = add(run, FINDING_INFO, share_of_peak(run, bytes), bytes, blocks);
    append(finding, "%s%s in %s %s %s", units_format_bytes(bytes, text[0]),
           leaks->reported_bytes ? " more" : "", units_format_counted(blocks, "block", text[1]),
           verb(run, blocks), what_is_left(run));
    if (blocks == 1)
        append(finding, ": from %s.", largest->place);
    else if (largest->blocks == blocks)
        append(finding, ", all from %s: %s.", largest->place, how_it_came(largest));
    else
        append(finding, ", the largest part from %s: %s in %s, %s.", largest->place,
               units_format_bytes(largest->bytes, text[2]),
               units_format_counted(largest->blocks, "block", text[3]), how_it_came(largest));
    lead(run, finding, "leaks", NULL, 0);
    show_sql(run, finding, "leaks", " AND suppressed_by IS NULL");
}

static int find_leaks(const struct run *run, struct leaks *leaks, struct error *err)
{
    int64_t leaked = number(run, "leaked_bytes") - number(run, "suppressed_bytes");
    size_t n_own = 0;
    int rc = leaked > 0 ? read_leaks(run, leaks, err) : 0;

    for (size_t i = 0; rc == 0 && i < leaks->n && n_own < MAX_OWN_LEAKS; i++) {
        struct leak_group group;

        if (leaks->is_reported[i] || !goes_on(&leaks->list[i]))
            continue;
        group = group_of(run, leaks, i);
        if (n_own > 0 && group.bytes < leaked / 50) { /* not worth a line beside the others */
            leaks->is_reported[i] = false;
            break;
        }
        find_leak(run, &group);
        leaks->reported_bytes += group.bytes;
        leaks->reported_blocks += group.blocks;
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

/* What rises during the run although it is freed at its end. */
static void find_growth_row(const struct run *run, struct sqlite3_stmt *row)
{
    int64_t grown = sqlite3_column_int64(row, 5);
    int64_t rate = sqlite3_column_int64(row, 8);
    int64_t site_id = sqlite3_column_int64(row, 4);
    char place[PLACE_BYTES];
    char text[3][UNITS_TEXT_BYTES];
    enum finding_severity severity = severity_of_growth(run, grown);
    struct finding *finding =
        add(run, has_exited(run) && severity == FINDING_CRITICAL ? FINDING_WARNING : severity,
            share_of_peak(run, grown), grown, -1);

    format_place(row, 0, place);
    append(finding, "%s keeps growing: from %s to %s", place,
           units_format_bytes(sqlite3_column_int64(row, 6), text[0]),
           units_format_bytes(sqlite3_column_int64(row, 7), text[1]));
    if (rate > 0)
        append(finding, ", %s a second", units_format_bytes(rate, text[2]));
    append(finding, "; a longer run needs more.");
    lead(run, finding, "growth", NULL, site_id);
    show_sql(run, finding, "growth", " AND call_site_id IS %" PRId64, site_id);
}

static int find_growth(const struct run *run, const struct leaks *leaks, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    size_t n = 0;
    int rc = prepare(run,
                     "SELECT function, source, line, module, call_site_id, grown_bytes, from_bytes,"
                     " to_bytes, bytes_per_s FROM growth WHERE process_id = ?1 LIMIT 8",
                     &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&run->query->database, stmt, err)) == 1 && n < 2) {
        if (sqlite3_column_int64(stmt, 5) < 64 * KIB
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

/* ---- heaps ---- */

struct heap {
    char at[8]; /* "peak" or "end" */
    int64_t extent, live, slack, overhead, holes, free_pages, top;
};

static const char heaps_sql[] =
    "SELECT n.reason, sum(h.extent_bytes), sum(h.live_bytes), sum(h.slack_bytes),"
    " sum(h.overhead_bytes), sum(h.hole_bytes), sum(h.free_page_bytes), sum(h.top_bytes)"
    " FROM snapshots AS n JOIN heap_states AS h ON h.snapshot_id = n.snapshot_id"
    " JOIN heaps AS e ON e.heap_id = h.heap_id WHERE n.process_id = ?1"
    " AND n.reason IN ('peak', 'end') AND e.allocator = 'glibc' AND h.top_bytes IS NOT NULL"
    " GROUP BY n.reason";

/* The call site that pins most pages at that time. */
static int append_who_pins(const struct run *run, const struct heap *heap, struct finding *finding,
                           struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    char place[PLACE_BYTES];
    char sql[256];
    char text[3][UNITS_TEXT_BYTES];
    int rc;

    if (run->query->database.is_without >= LEFT_OUT_MOMENTS)
        return 0;
    (void)snprintf(sql, sizeof(sql),
                   "SELECT function, source, line, module, pinned_pages, would_free_bytes,"
                   " usable_bytes FROM pinning WHERE process_id = ?1 AND at = '%s' LIMIT 1",
                   heap->at);
    rc = first_row(run, sql, &stmt, err);
    if (rc != 1)
        return rc;
    /* Pages that are mostly full are no waste. */
    if (sqlite3_column_int64(stmt, 5) > heap->holes / 20
        && sqlite3_column_int64(stmt, 5) > 2 * sqlite3_column_int64(stmt, 6)) {
        format_place(stmt, 0, place);
        append(finding, " %s keeps %s of pages in use with %s of blocks.", place,
               units_format_bytes(sqlite3_column_int64(stmt, 5), text[0]),
               units_format_bytes(sqlite3_column_int64(stmt, 6), text[1]));
    }
    sqlite3_finalize(stmt);
    return 0;
}

static int find_fragmentation(const struct run *run, const struct heap *heap, struct error *err)
{
    int64_t unused = heap->holes + heap->free_pages;
    bool is_over = has_exited(run) && strcmp(heap->at, "end") == 0; /* too late to matter */
    char page[32];
    char text[3][UNITS_TEXT_BYTES];
    struct finding *finding =
        add(run, unused > 4 * MIB && !is_over ? FINDING_WARNING : FINDING_INFO,
            share_of_peak(run, unused), unused, -1);

    append(finding, "Fragmentation: at the %s %s of the heap's %s were free between live blocks.",
           heap->at, units_format_bytes(unused, text[0]),
           units_format_bytes(heap->extent, text[1]));
    if (heap->free_pages > heap->holes)
        append(finding, " malloc_trim(0) returns %s of it, which are whole pages.",
               units_format_bytes(heap->free_pages, text[2]));
    (void)snprintf(page, sizeof(page), "pinning?alive_at=%s", heap->at);
    lead(run, finding, "pinning", page, 0);
    show_sql(run, finding, "pinning", " AND at = '%s'", heap->at);
    return append_who_pins(run, heap, finding, err);
}

static void find_untrimmed(const struct run *run, const struct heap *heap)
{
    char text[2][UNITS_TEXT_BYTES];
    struct finding *finding = add(run, FINDING_INFO, share_of_peak(run, heap->top), heap->top, -1);

    append(
        finding,
        "At the end %s of the heap's %s were free above the last live block: malloc_trim(0) returns them.",
        units_format_bytes(heap->top, text[0]), units_format_bytes(heap->extent, text[1]));
    lead(run, finding, "fragmentation", "fragmentation?alive_at=end", 0);
    show_sql(run, finding, "fragmentation", " AND at = 'end'");
}

static void find_small_blocks(const struct run *run, const struct heap *heap)
{
    int64_t lost = heap->slack + heap->overhead;
    char text[UNITS_TEXT_BYTES];
    char share[UNITS_TEXT_BYTES];
    struct finding *finding = add(run, FINDING_INFO, share_of_peak(run, lost), lost, -1);

    append(
        finding,
        "Blocks are small: at the peak headers and rounded sizes took %s, %s of the bytes in use. "
        "Allocate several objects in one block.",
        units_format_bytes(lost, text),
        units_format_share((double)lost / (double)heap->live, share));
    lead(run, finding, "size-histogram", NULL, 0);
    show_sql(run, finding, "size_histogram", "%s", "");
}

/* A heap that the program has emptied before it exits is not worth a finding. */
static bool is_in_use(const struct run *run, const struct heap *heap)
{
    return heap->live >= heap->extent / 10 || (strcmp(heap->at, "end") == 0 && !has_exited(run));
}

static int find_heaps(const struct run *run, struct error *err)
{
    struct heap worst = {.at = ""};
    struct sqlite3_stmt *stmt = NULL;
    int rc = prepare(run, heaps_sql, &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&run->query->database, stmt, err)) == 1) {
        struct heap heap = {
            .extent = sqlite3_column_int64(stmt, 1),
            .live = sqlite3_column_int64(stmt, 2),
            .slack = sqlite3_column_int64(stmt, 3),
            .overhead = sqlite3_column_int64(stmt, 4),
            .holes = sqlite3_column_int64(stmt, 5),
            .free_pages = sqlite3_column_int64(stmt, 6),
            .top = sqlite3_column_int64(stmt, 7),
        };
        int64_t lost = heap.slack + heap.overhead;
        int64_t unused = heap.holes + heap.free_pages;

        (void)snprintf(heap.at, sizeof(heap.at), "%s", rundb_text(stmt, 0));
        if (heap.extent >= MIB && unused >= heap.extent / 4 && is_in_use(run, &heap)
            && unused > worst.holes + worst.free_pages)
            worst = heap;
        if (strcmp(heap.at, "end") == 0 && !has_exited(run) && heap.top >= 4 * MIB
            && heap.top >= heap.extent / 2 && heap.live >= heap.extent / 10)
            find_untrimmed(run, &heap);
        if (strcmp(heap.at, "peak") == 0 && lost >= MIB && lost >= heap.live / 4 && heap.live > 0)
            find_small_blocks(run, &heap);
    }
    sqlite3_finalize(stmt);
    if (rc == 0 && *worst.at)
        rc = find_fragmentation(run, &worst, err);
    return rc < 0 ? rc : 0;
}

/* ---- time ---- */

static int find_temporary(const struct run *run, struct error *err)
{
    double share = summary_share(run->numbers, "temporary_share");
    int64_t blocks = number(run, "temporary_blocks");
    double cost = share_of_run(run, (double)blocks * pair_ns);
    struct sqlite3_stmt *stmt = NULL;
    struct finding *finding;
    char place[PLACE_BYTES];
    char text[2][UNITS_TEXT_BYTES];
    int rc;

    if (share <= 0.25 || blocks < 1000)
        return 0;
    rc = first_row(run,
                   "SELECT function, source, line, module, call_site_id, temporary_blocks"
                   " FROM temporary WHERE process_id = ?1 LIMIT 1",
                   &stmt, err);
    if (rc != 1)
        return rc;
    format_place(stmt, 0, place);
    finding = add(run, cost > 0.02 ? FINDING_WARNING : FINDING_INFO, cost, -1, blocks);
    append(finding,
           "%s of all allocations are temporary: freed before their thread makes another. "
           "%s allocates most of them, %s: reuse a buffer there.",
           units_format_share(share, text[0]), place,
           units_format_counted(sqlite3_column_int64(stmt, 5), "block", text[1]));
    lead(run, finding, "temporary", NULL, 0);
    show_sql(run, finding, "temporary", "%s", "");
    sqlite3_finalize(stmt);
    return 0;
}

static int find_copying(const struct run *run, struct error *err)
{
    int64_t copied = number(run, "realloc_copied_bytes");
    double cost = share_of_run(run, (double)copied / copied_bytes_per_ns);
    struct sqlite3_stmt *stmt = NULL;
    struct finding *finding;
    char place[PLACE_BYTES];
    char text[3][UNITS_TEXT_BYTES];
    int rc;

    if (copied < MIB || copied < number(run, "allocated_bytes") / 10)
        return 0;
    rc = first_row(run,
                   "SELECT function, source, line, module, copied_bytes, longest_chain"
                   " FROM reallocs WHERE process_id = ?1 LIMIT 1",
                   &stmt, err);
    if (rc != 1)
        return rc;
    format_place(stmt, 0, place);
    finding = add(run, cost > 0.02 ? FINDING_WARNING : FINDING_INFO, cost, copied, -1);
    append(finding,
           "realloc copied %s, %s of it for %s, whose buffers grow in up to %s steps: reserve the "
           "size, or double it.",
           units_format_bytes(copied, text[0]),
           units_format_bytes(sqlite3_column_int64(stmt, 4), text[1]), place,
           units_format_count(sqlite3_column_int64(stmt, 5), text[2]));
    lead(run, finding, "reallocs", NULL, 0);
    show_sql(run, finding, "reallocs", "%s", "");
    sqlite3_finalize(stmt);
    return 0;
}

/* ---- the rest ---- */

static int find_peak(const struct run *run, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    struct finding *finding;
    char place[PLACE_BYTES];
    char text[4][UNITS_TEXT_BYTES];
    int rc = first_row(run,
                       "SELECT function, source, line, module, call_site_id, bytes, blocks, share"
                       " FROM peak WHERE process_id = ?1 LIMIT 1",
                       &stmt, err);

    if (rc != 1)
        return rc;
    format_place(stmt, 0, place);
    finding = add(run, FINDING_INFO, sqlite3_column_double(stmt, 7), sqlite3_column_int64(stmt, 5),
                  sqlite3_column_int64(stmt, 6));
    append(finding, "At the peak, at %s, %s held %s of %s in %s.",
           units_format_duration(number(run, "peak_ns"), text[0]), place,
           units_format_share(sqlite3_column_double(stmt, 7), text[1]),
           units_format_bytes(run->peak_bytes, text[2]),
           units_format_counted(sqlite3_column_int64(stmt, 6), "block", text[3]));
    lead(run, finding, "peak", NULL, 0);
    show_sql(run, finding, "peak", "%s", "");
    sqlite3_finalize(stmt);
    return 0;
}

static int find_bad_frees(const struct run *run, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    struct finding *finding;
    char text[UNITS_TEXT_BYTES];
    int64_t n;
    int rc =
        first_row(run, "SELECT count(*) FROM unmatched_frees WHERE process_id = ?1", &stmt, err);

    if (rc != 1)
        return rc;
    n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    if (n == 0)
        return 0;
    finding = add(run, FINDING_WARNING, 1, -1, n);
    append(finding,
           "%s got an address that is not a live block: a double free, an invalid free, or an "
           "allocator that was not recorded.",
           units_format_counted(n, "call", text));
    lead(run, finding, "errors", NULL, 0);
    show_sql(run, finding, "errors", "%s", "");
    return 0;
}

static void find_trust(const struct run *run)
{
    int64_t failures = number(run, "failures");
    double complete = summary_share(run->numbers, "complete_share");
    char text[UNITS_TEXT_BYTES];
    struct finding *finding;

    if (failures > 0) {
        finding = add(run, FINDING_WARNING, 1, -1, failures);
        append(finding, "%s failed: the program got no memory.",
               units_format_counted(failures, "allocation", text));
        lead(run, finding, "failures", "allocation-failures", 0);
        show_sql(run, finding, "allocation_failures", "%s", "");
    }
    if (summary_is_known(run->numbers, "complete_share") && complete < 0.9) {
        finding = add(run, complete < 0.5 ? FINDING_WARNING : FINDING_INFO, 0, -1, -1);
        append(finding,
               "Only %s of the allocations have a complete stack: call trees miss callers.",
               units_format_share(complete, text));
        lead(run, finding, "unwind-quality", NULL, 0);
        show_sql(run, finding, "unwind_quality", "%s", "");
    }
}

static int compare(const void *a, const void *b)
{
    const struct finding *x = a;
    const struct finding *y = b;

    if (x->severity != y->severity)
        return x->severity < y->severity ? -1 : 1;
    if (x->cost > y->cost || x->cost < y->cost)
        return x->cost > y->cost ? -1 : 1;
    return strcmp(x->sentence, y->sentence);
}

int findings_collect(const struct query *query, int64_t process_id,
                     const struct summary_numbers *numbers, struct findings *findings,
                     struct error *err)
{
    const struct run run = {
        .query = query,
        .numbers = numbers,
        .findings = findings,
        .process_id = process_id,
        .peak_bytes = summary_number(numbers, "peak_bytes"),
        .duration_ns = (double)summary_number(numbers, "duration_ns"),
    };
    struct leaks *leaks = calloc(1, sizeof(*leaks));
    int rc = leaks ? 0 : error_set(err, ERROR_NOMEM, "no memory for leaks");

    findings->n = 0;
    if (rc == 0)
        rc = find_leaks(&run, leaks, err);
    if (rc == 0)
        rc = find_growth(&run, leaks, err);
    if (rc == 0)
        rc = find_heaps(&run, err);
    if (rc == 0)
        rc = find_temporary(&run, err);
    if (rc == 0)
        rc = find_copying(&run, err);
    if (rc == 0)
        rc = find_peak(&run, err);
    if (rc == 0)
        rc = find_bad_frees(&run, err);
    find_trust(&run);
    free(leaks);
    qsort(findings->list, findings->n, sizeof(findings->list[0]), compare);
    if (findings->n > FINDINGS_SHOWN)
        findings->n = FINDINGS_SHOWN;
    return rc;
}

/* ---- output ---- */

void finding_put_command(const struct query *query, const struct finding *finding, FILE *out)
{
    (void)fprintf(out, "mtrace-query %s %s%s%s", finding->command,
                  query->options->is_sealed ? "run.db" : query->shell_path,
                  *finding->options ? " " : "", finding->options);
}

/* Breaks the text at blanks. width 0: no limit. */
static void print_wrapped(const char *text, size_t width, FILE *out)
{
    size_t room = width > INDENT + 20 ? width - INDENT : SIZE_MAX;

    while (strlen(text) > room) {
        size_t n = room;

        while (n > 0 && text[n] != ' ')
            n--;
        if (n == 0)
            n = strcspn(text, " ");
        (void)fprintf(out, "%.*s\n%*s", (int)n, text, INDENT, "");
        text += n;
        while (*text == ' ')
            text++;
    }
    (void)fprintf(out, "%s\n", text);
}

void findings_print(const struct query *query, const struct findings *findings)
{
    static const char *const colours[] = {"\033[31m", "\033[33m", ""};
    FILE *out = query->out;
    bool is_coloured = query->style.is_coloured;

    if (findings->n == 0)
        return;
    (void)fputs("\nWhat to look at\n", out);
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->list[i];

        (void)fprintf(out, "  %s%-8s%s  ", is_coloured ? colours[finding->severity] : "",
                      finding_severity_name(finding->severity), is_coloured ? "\033[0m" : "");
        print_wrapped(finding->sentence, (size_t)query->style.width, out);
        if (query->options->is_sealed)
            continue;
        (void)fprintf(out, "%*s", INDENT, "");
        finding_put_command(query, finding, out);
        (void)fputs("\n", out);
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
    char *command = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&command, &size);

    if (text) {
        finding_put_command(query, finding, text);
        (void)fclose(text);
    }
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
