/* SPDX-License-Identifier: MIT */
/*
 * leaks: for people one screen per process: how it ended, totals, and each call site with the
 * pattern of its leak and where its other blocks, or those of its other stacks, are freed. As json,
 * csv, with --site or --fail-if it is the plain view without suppressed leaks.
 */
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "queries/core/blame_hint.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/core/report.h"
#include "queries/core/report_sql.h"
#include "queries/render/caller_line.h"
#include "queries/render/estimate.h"
#include "queries/render/shorten.h"
#include "queries/render/stack_text.h"
#include "queries/render/table.h"
#include "queries/reports/process_ranking.h"
#include "queries/reports/reports.h"

#include <inttypes.h>
#include <string.h>

enum {
    CELL_BYTES = 1024,
    MAX_CALLERS = 32, /* rows with the line of a caller */
    NARROW = 96 /* in narrower terminals the numbers of the pattern would displace the function */
};

enum leak_column {
    LEAKED_BYTES,
    LEAKED_BLOCKS,
    SHARE_OF_SITE,
    FUNCTION,
    SOURCE,
    LINE,
    MODULE,
    CALL_SITE_ID,
    STACKS,
    FIRST_NS, /* since the run began, as in all reports */
    LAST_NS,
    PATTERN,
    FREE_FUNCTION,
    FREE_SOURCE,
    FREE_LINE,
    FREE_MODULE,
    FREE_SITE_ID,
    LIFE_NS,      /* length of the analysis range */
    RECORDED_NS,  /* recorded time from the first leak to the last */
    BYTES_MARGIN, /* NULL: exact */
    BLOCKS_MARGIN,
    VERDICT,  /* NULL: no heap image */
    STACK_ID, /* with --stacks only */
    STACK,
    STACK_BYTES,
};

static const char row_columns[] =
    "l.leaked_bytes, l.leaked_blocks, l.share_of_site, l.function, l.source, l.line, l.module, l.call_site_id,"
    " l.stacks, l.leaked_first_ns, l.leaked_last_ns, l.pattern,"
    " e.function, e.source, e.line, e.module, e.call_site_id, j.end_ns - j.start_ns,"
    " (SELECT coalesce(sum(max(0, min(coalesce(w.end_ns, l.leaked_last_ns), l.leaked_last_ns)"
    " - max(w.start_ns, l.leaked_first_ns)) * w.recorded_share), l.leaked_last_ns - l.leaked_first_ns)"
    " FROM windows AS w WHERE w.process_id = l.process_id),"
    " l.leaked_bytes_margin, l.leaked_blocks_margin, l.verdict";

static const char rows_sql[] =
    " FROM leaks AS l JOIN processes AS p ON p.process_id = l.process_id"
    " JOIN _judged AS j ON j.process_id = l.process_id"
    " LEFT JOIN site_frees AS f ON f.process_id = l.process_id AND f.call_site_id = l.call_site_id"
    " AND f.is_leaking = (l.share_of_site < 1)" /* if its stacks free nothing, its other stacks' */
    " LEFT JOIN _sites AS e ON e.call_site_id = f.free_call_site_id"
    " WHERE l.process_id = :process AND l.suppressed_by IS NULL"
    " ORDER BY l.weight DESC, l.leaked_bytes DESC, l.leaked_blocks DESC, l.call_site_id"
    " LIMIT :count OFFSET :skip";

static const char totals_sql[] =
    "SELECT coalesce(sum(l.leaked_bytes) FILTER (WHERE l.rule_id IS NULL), 0),"
    " coalesce(sum(l.leaked_blocks) FILTER (WHERE l.rule_id IS NULL), 0),"
    " count(DISTINCT ifnull(l.call_site_id, 0)) FILTER (WHERE l.rule_id IS NULL),"
    " (SELECT events_dropped FROM processes WHERE process_id = :process),"
    " (SELECT 1.0 * coalesce(sum(complete_blocks), 0) / sum(allocated_blocks) FROM site_totals"
    "  WHERE process_id = :process)," /* as in summary, all of which would take twice as long */
    " sqrt(sum(l.leaked_bytes_margin * l.leaked_bytes_margin) FILTER (WHERE l.rule_id IS NULL)),"
    " sqrt(sum(l.leaked_blocks_margin * l.leaked_blocks_margin) FILTER (WHERE l.rule_id IS NULL))"
    " FROM site_leaks AS l WHERE l.process_id = :process AND :site IN (0, l.call_site_id)";

static const char rules_sql[] =
    "SELECT sum(bytes), sum(blocks), sqrt(sum(bytes_square)), sqrt(sum(blocks_square)), count(*),"
    /* of the first row, which suppresses most */
    " max(bytes), rule FROM (SELECT r.rule, sum(l.leaked_bytes) AS bytes,"
    " sum(l.leaked_blocks) AS blocks,"
    " sum(l.leaked_bytes_margin * l.leaked_bytes_margin) AS bytes_square,"
    " sum(l.leaked_blocks_margin * l.leaked_blocks_margin) AS blocks_square FROM site_leaks AS l"
    " JOIN suppressions AS r ON r.rule_id = l.rule_id WHERE l.process_id = :process"
    " AND l.rule_id IS NOT NULL AND :site IN (0, l.call_site_id)"
    " GROUP BY r.rule_id ORDER BY bytes DESC, r.rule_id)";

/* Negative: none. */
static double margin_of(struct sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? -1
                                                           : sqlite3_column_double(row, column);
}

static int prepare(const struct query *query, const char *sql, int64_t process_id,
                   struct sqlite3_stmt **ret, struct error *err)
{
    int rc = rundb_prepare(&query->database, sql, ret, err);

    if (rc == 0)
        sqlite3_bind_int64(*ret, sqlite3_bind_parameter_index(*ret, ":process"), process_id);
    if (rc == 0 && sqlite3_bind_parameter_index(*ret, ":site"))
        sqlite3_bind_int64(*ret, sqlite3_bind_parameter_index(*ret, ":site"),
                           query->options->site_id);
    return rc;
}

/* "15 % of stacks complete"; where nothing was allocated there is no share. */
static const char *format_complete(struct sqlite3_stmt *row, char *ret_text)
{
    char share[UNITS_TEXT_BYTES];

    if (sqlite3_column_type(row, 4) == SQLITE_NULL)
        return "no stacks";
    (void)snprintf(ret_text, CELL_BYTES, "%s of stacks complete",
                   units_format_share(sqlite3_column_double(row, 4), share));
    return ret_text;
}

static int print_totals(const struct query *query, int64_t process_id, int64_t *ret_n_sites,
                        struct error *err)
{
    struct sqlite3_stmt *stmt;
    char bytes[ESTIMATE_TEXT_BYTES];
    char blocks[ESTIMATE_TEXT_BYTES];
    char dropped[UNITS_TEXT_BYTES];
    char share[CELL_BYTES];
    int rc = prepare(query, totals_sql, process_id, &stmt, err);

    if (rc != 0)
        return rc;
    rc = rundb_step(&query->database, stmt, err);
    if (rc == 1) {
        int64_t n_dropped = sqlite3_column_int64(stmt, 3);

        *ret_n_sites = sqlite3_column_int64(stmt, 2);
        (void)fprintf(
            query->out, "%s %s in %s of %" PRId64 " site%s%s; %s%s%s\n",
            headline_leaked(query, process_id),
            estimate_format_bytes(sqlite3_column_int64(stmt, 0), margin_of(stmt, 5), bytes),
            estimate_format_blocks(sqlite3_column_int64(stmt, 1), margin_of(stmt, 6), blocks),
            *ret_n_sites, *ret_n_sites == 1 ? "" : "s",
            *ret_n_sites > 1 ? ", by bytes, growing ones 64-fold" : "",
            n_dropped ? units_format_counted(n_dropped, "event", dropped) : "",
            n_dropped ? " dropped; " : "", format_complete(stmt, share));
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

/* If less than half of the time was recorded, the view has no pattern. */
static const char *pattern_of(struct sqlite3_stmt *row)
{
    return sqlite3_column_type(row, PATTERN) == SQLITE_NULL ? "not known"
                                                            : rundb_text(row, PATTERN);
}

/* Shows a rate only if leaks went on for at least a tenth of the analysis range: for a batch of a
 * few milliseconds it would mislead. "steady 7.4 KiB/s", "late 7.4 KiB/s", "burst
 * 0.2 s to 0.9 s", "once at 0.2 s". */
static void format_when(struct sqlite3_stmt *row, char *text, size_t size)
{
    const char *pattern = pattern_of(row);
    int64_t first_ns = sqlite3_column_int64(row, FIRST_NS);
    int64_t last_ns = sqlite3_column_int64(row, LAST_NS);
    int64_t recorded_ns = sqlite3_column_int64(row, RECORDED_NS);
    char first[UNITS_TEXT_BYTES];
    char last[UNITS_TEXT_BYTES];

    units_format_duration(first_ns, first);
    units_format_duration(last_ns, last);
    if ((strcmp(pattern, "late") == 0 || strcmp(pattern, "steady") == 0) && recorded_ns > 0
        && last_ns - first_ns >= sqlite3_column_int64(row, LIFE_NS) / 10) {
        double bytes_per_s =
            (double)sqlite3_column_int64(row, LEAKED_BYTES) * 1e9 / (double)recorded_ns;
        (void)snprintf(text, size, "%s %s", pattern, units_format_rate(bytes_per_s, last));
    } else if (strcmp(first, last) == 0) {
        (void)snprintf(text, size, "%s at %s", pattern, first);
    } else {
        (void)snprintf(text, size, "%s %s to %s", pattern, first, last);
    }
}

/* database: to find the line of a caller; NULL: do not. */
static void add_where(struct table *table, const struct rundb *database, struct sqlite3_stmt *row)
{
    static const struct where_columns columns = {FUNCTION, SOURCE, LINE, MODULE};
    char more[CELL_BYTES] = "";
    size_t used;

    if (database && sqlite3_column_type(row, LINE) == SQLITE_NULL)
        caller_line_append(database, sqlite3_column_int64(row, CALL_SITE_ID), more, sizeof(more));
    used = strlen(more);
    if (sqlite3_column_int64(row, STACKS) > 1)
        (void)snprintf(more + used, sizeof(more) - used, "  %" PRId64 " stacks",
                       (int64_t)sqlite3_column_int64(row, STACKS));
    stack_text_add_place(table, row, &columns, more);
}

/* In a narrow terminal it has a line of its own. */
static void add_freed_in(struct table *table, struct sqlite3_stmt *row, bool is_narrow)
{
    static const struct where_columns columns = {FREE_FUNCTION, FREE_SOURCE, FREE_LINE,
                                                 FREE_MODULE};
    const char *said = sqlite3_column_double(row, SHARE_OF_SITE) < 1
                           ? "the others are freed in "
                           : "other stacks free theirs in ";
    char text[CELL_BYTES];

    if (sqlite3_column_type(row, FREE_SITE_ID) == SQLITE_NULL)
        return;
    (void)snprintf(text, sizeof(text), "%s%s", is_narrow ? "    " : "", said);
    stack_text_format_place(row, &columns, text + strlen(text), sizeof(text) - strlen(text));
    for (size_t i = 0; !is_narrow && i < 5; i++)
        table_add_cell(table, "");
    if (is_narrow)
        table_add_line(table, text);
    else
        table_add_cell(table, text);
    if (!is_narrow)
        table_name_file(table, rundb_text(row, FREE_SOURCE));
}

/* Prints the id of the stack, then the stack. */
static void add_stack(struct table *table, struct sqlite3_stmt *row)
{
    int64_t stack_id = sqlite3_column_int64(row, STACK_ID);
    char text[CELL_BYTES];
    char bytes[UNITS_TEXT_BYTES];

    if (sqlite3_column_int64(row, STACKS) > 1) {
        stack_text_add_heaviest(table, stack_id,
                                units_format_bytes(sqlite3_column_int64(row, STACK_BYTES), bytes),
                                sqlite3_column_int64(row, STACKS));
    } else {
        (void)snprintf(text, sizeof(text), "    stack %" PRId64 ":", stack_id);
        table_add_line(table, text);
    }
    stack_text_add(table, rundb_text(row, STACK), false);
}

static void add_row(struct table *table, const struct rundb *database, struct sqlite3_stmt *row,
                    bool is_narrow)
{
    char text[CELL_BYTES];

    table_add_cell(table, estimate_format_bytes(sqlite3_column_int64(row, LEAKED_BYTES),
                                                margin_of(row, BYTES_MARGIN), text));
    table_add_cell(table, estimate_format_count(sqlite3_column_int64(row, LEAKED_BLOCKS),
                                                margin_of(row, BLOCKS_MARGIN), text));
    table_add_cell(table, units_format_share(sqlite3_column_double(row, SHARE_OF_SITE), text));
    if (is_narrow)
        (void)snprintf(text, sizeof(text), "%s", pattern_of(row));
    else
        format_when(row, text, sizeof(text));
    if (sqlite3_column_type(row, VERDICT) != SQLITE_NULL)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %s",
                       rundb_text(row, VERDICT));
    table_add_cell(table, text);
    (void)snprintf(text, sizeof(text), "%" PRId64,
                   (int64_t)sqlite3_column_int64(row, CALL_SITE_ID));
    table_add_cell(table, text);
    add_where(table, database, row);
    add_freed_in(table, row, is_narrow);
    if (sqlite3_column_count(row) > STACK)
        add_stack(table, row);
}

/* A regex for the innermost name of the function: "push_back" of "std::vector<..>::push_back".
 * False: there is no usable name. */
static bool format_regex(const char *function, char *regex, size_t size)
{
    char name[CELL_BYTES];
    const char *from = name;
    size_t used = 0;

    shorten_function(function, name, sizeof(name));
    for (const char *at = strstr(name, "<..>"); at; at = strstr(at + 1, "<..>"))
        from = at + strlen("<..>");
    from += strspn(from, ":");
    if (*from == '\0' || !utf8_is_clean(from) || strstr(from, "+0x") || strstr(from, " 0x")
        || strchr(from, '\''))
        return false;
    for (; *from && used + 3 < size; from++) {
        if (strchr(".[]{}()*+?^$|\\", *from))
            regex[used++] = '\\';
        regex[used++] = *from;
    }
    regex[used] = '\0';
    return true;
}

/* Prints the command that opens the first row, and a filter on its function as a shell comment. */
static void print_next(const struct query *query, int64_t process_id, int64_t site_id,
                       const char *function)
{
    char process[CELL_BYTES] = "";
    char text[CELL_BYTES];
    bool has_regex = format_regex(function, text, sizeof(text));

    if (query->style.has_process)
        (void)snprintf(process, sizeof(process), " --process %" PRId64, process_id);
    query_advise(query, "leaks %s%s --site %" PRId64 "%s%s%s", query->shell_path, process, site_id,
                 has_regex ? "    # filter: --function-regex '" : "", has_regex ? text : "",
                 has_regex ? "'" : "");
}

static void add_columns(struct table *table, bool is_live)
{
    table_add_column(table, "bytes", true);
    table_add_column(table, "blocks", true);
    table_rank(table, 1, TABLE_RANK_TEXT);
    table_add_column(table, is_live ? "still live" : "never freed", true);
    table_rank(table, 2, TABLE_RANK_NUMBER);
    table_add_column(table, "pattern", false);
    table_rank(table, 3, TABLE_RANK_TEXT);
    table_add_column(table, "site", true);
    table_rank(table, 4, TABLE_RANK_ID);
    table_add_column(table, "where", false);
}

/* Prints the rows of a process, ret_site and ret_function are the first row's. */
static int print_rows(const struct query *query, struct sqlite3_stmt *stmt, int64_t process_id,
                      int64_t *ret_site, char *ret_function, struct error *err)
{
    struct table table;
    bool is_narrow = query->style.width > 0 && query->style.width < NARROW;
    int64_t n_rows = 0;
    int rc;

    table_init(&table);
    add_columns(&table, strncmp(headline_leaked(query, process_id), "live", 4) == 0);
    while ((rc = rundb_step(&query->database, stmt, err)) == 1) {
        if (n_rows++ == 0) {
            *ret_site = sqlite3_column_int64(stmt, CALL_SITE_ID);
            (void)snprintf(ret_function, CELL_BYTES, "%s", rundb_text(stmt, FUNCTION));
        }
        add_row(&table, n_rows <= MAX_CALLERS ? &query->database : NULL, stmt, is_narrow);
    }
    if (rc == 0 && n_rows > 0)
        rc = table_print(&table, query->style.width, query->style.is_coloured, query->out, err);
    table_done(&table);
    return rc;
}

static char *make_rows_sql(const struct query *query)
{
    struct sqlite3_str *sql = sqlite3_str_new(query->database.handle);

    report_sql_append_stacks_with(query, false, sql);
    sqlite3_str_appendf(sql, "SELECT %s", row_columns);
    report_sql_append_stacks_columns(query, false, "l", sql);
    sqlite3_str_appendall(sql, rows_sql);
    return sqlite3_str_finish(sql);
}

static int print_sites(const struct query *query, int64_t process_id, int64_t n_sites,
                       struct error *err)
{
    struct sqlite3_stmt *stmt;
    char function[CELL_BYTES] = "";
    int64_t site_id = 0;
    int64_t max_rows = query_max_rows(query);
    char *sql = make_rows_sql(query);
    int rc = sql ? prepare(query, sql, process_id, &stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, ":count"), max_rows);
    sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, ":skip"), query->options->skip);
    rc = print_rows(query, stmt, process_id, &site_id, function, err);
    sqlite3_finalize(stmt);
    if (rc == 0 && max_rows >= 0 && n_sites > max_rows + query->options->skip)
        (void)fprintf(query->out, "and %" PRId64 " more site%s: -n 0\n",
                      n_sites - max_rows - query->options->skip,
                      n_sites - max_rows - query->options->skip == 1 ? "" : "s");
    if (rc == 0 && site_id)
        print_next(query, process_id, site_id, function);
    return rc == 0 ? blame_hint_print(query, "leaks", process_id, err) : rc;
}

static int print_rules(const struct query *query, int64_t process_id, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int64_t n_rules;
    char more[CELL_BYTES] = "";
    char bytes[ESTIMATE_TEXT_BYTES];
    char blocks[ESTIMATE_TEXT_BYTES];
    int rc = prepare(query, rules_sql, process_id, &stmt, err);

    if (rc != 0)
        return rc;
    rc = rundb_step(&query->database, stmt, err);
    n_rules = rc == 1 ? sqlite3_column_int64(stmt, 4) : 0;
    if (n_rules > 1)
        (void)snprintf(more, sizeof(more), ", and %" PRId64 " more rule%s", n_rules - 1,
                       n_rules == 2 ? "" : "s");
    if (n_rules > 0) {
        char rule[CELL_BYTES];

        (void)snprintf(rule, sizeof(rule), "%s", rundb_text(stmt, 6));
        utf8_clean(rule);
        (void)fprintf(
            query->out, "suppressed: %s in %s (%s%s)\n",
            estimate_format_bytes(sqlite3_column_int64(stmt, 0), margin_of(stmt, 2), bytes),
            estimate_format_blocks(sqlite3_column_int64(stmt, 1), margin_of(stmt, 3), blocks), rule,
            more);
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

static int print_process(struct query *query, int64_t process_id, struct error *err)
{
    int64_t n_sites = 0;
    int rc = headline_print(query, process_id, err);

    if (rc == 0)
        rc = print_totals(query, process_id, &n_sites, err);
    if (rc == 0 && n_sites > 0 && !query->options->site_id) /* its stacks follow */
        rc = print_sites(query, process_id, n_sites, err);
    if (rc == 0)
        rc = print_rules(query, process_id, err);
    return rc;
}

/* The plain view; below a site, its stacks. */
static int run_plain(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    const char *view = options->site_id ? "leaks_by_stack" : "leaks";
    struct sqlite3_stmt *stmt;
    int64_t n_rows = 0;
    int rc = report_sql_prepare(query, view, "leaks", "suppressed_by IS NULL", &stmt, err);

    if (rc != 0)
        return rc;
    if (!query_show_sql(query, stmt))
        rc = report_print(query, stmt, options->site_id ? "stack" : "leaks",
                          options->site_id ? "{backtrace_id}" : "--site {call_site_id}", &n_rows,
                          err);
    sqlite3_finalize(stmt);
    if (rc == 0 && n_rows > 0 && options->fail_if)
        query->has_failed = true;
    return rc;
}

int cmd_leaks_run(struct query *query, struct error *err)
{
    int rc;

    if (!query_is_screen(query))
        return run_plain(query, err);
    rc = process_ranking_each(query, "leaked_bytes", print_process, err);
    return rc == 0 && query->options->site_id ? run_plain(query, err) : rc;
}
