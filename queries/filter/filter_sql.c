/* SPDX-License-Identifier: MIT */
#include "queries/filter/filter_sql.h"

#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/base/units.h"
#include "queries/db/rundb.h"
#include "queries/filter/id_ranges.h"
#include "queries/filter/stack_selection.h"

#include <string.h>

static int add_bound(struct filter_sql *sql, struct filter_bound bound)
{
    if (sql->n_bound == FILTER_SQL_MAX_BOUND) {
        sqlite3_free(bound.text);
        return (int)sql->n_bound; /* filter_add allows fewer values than there are places */
    }
    sql->bound[sql->n_bound++] = bound;
    return (int)sql->n_bound;
}

static int bind_number(struct filter_sql *sql, int64_t number)
{
    return add_bound(sql, (struct filter_bound){.number = number});
}

/* ---- the range of time ---- */

static int read_range(struct filter_sql *sql, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int64_t n_processes;
    int rc = rundb_prepare(
        sql->database,
        "SELECT min(start_ns), max(end_ns), count(*), max(process_id),"
        " (SELECT count(*) FROM processes) FROM processes WHERE ?1 IN (0, process_id)",
        &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, sql->process_id);
    rc = rundb_step(sql->database, stmt, err);
    sql->start_ns = sqlite3_column_int64(stmt, 0);
    sql->end_ns = sqlite3_column_int64(stmt, 1);
    n_processes = sqlite3_column_int64(stmt, 2);
    sql->is_of_one_process = n_processes == 1;
    sql->is_restricted = n_processes < sqlite3_column_int64(stmt, 4);
    if (sql->is_of_one_process && sql->process_id == 0)
        sql->process_id = sqlite3_column_int64(stmt, 3);
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

static int64_t share_of(int64_t duration_ns, double share)
{
    double ns = share * (double)duration_ns;

    return ns >= 0x1p63 ? INT64_MAX : ns < -0x1p63 ? INT64_MIN : (int64_t)ns;
}

int64_t filter_sql_resolve(const struct filter_sql *sql, const struct filter_value *value)
{
    int64_t duration_ns = saturating_subtract(sql->end_ns, sql->start_ns);

    if (!value->is_share)
        return value->number;
    if (value->parameter->type == FILTER_DURATION_OR_SHARE)
        return share_of(duration_ns, value->share);
    return saturating_add(sql->start_ns, share_of(duration_ns, value->share));
}

const struct filter_value *filter_sql_widest(const struct filter_sql *sql,
                                             const struct filter *filter, const char *name)
{
    const bool is_end = strcmp(name, "to") == 0;
    const struct filter_value *widest = NULL;

    for (size_t i = 0; i < filter->n_values; i++) {
        const struct filter_value *value = &filter->values[i];

        if (strcmp(value->parameter->name, name) == 0
            && (!widest
                || (filter_sql_resolve(sql, value) > filter_sql_resolve(sql, widest)) == is_end))
            widest = value;
    }
    return widest;
}

static int64_t widest_or(const struct filter_sql *sql, const struct filter *filter,
                         const char *name, int64_t otherwise)
{
    const struct filter_value *widest = filter_sql_widest(sql, filter, name);

    return widest ? filter_sql_resolve(sql, widest) : otherwise;
}

int filter_sql_range(const struct filter_sql *sql, const struct filter *filter,
                     int64_t *ret_from_ns, int64_t *ret_to_ns, struct error *err)
{
    char end[UNITS_TEXT_BYTES];

    *ret_from_ns = widest_or(sql, filter, "from", INT64_MIN);
    *ret_to_ns = widest_or(sql, filter, "to", INT64_MAX);
    if (*ret_from_ns >= *ret_to_ns)
        return error_set(err, ERROR_USAGE, "from must be before to");
    if (*ret_from_ns >= sql->end_ns)
        return error_set(err, ERROR_USAGE,
                         "from is after the end of the run; the run is from 0 s to %s",
                         units_format_duration(sql->end_ns, end));
    return 0;
}

static void find_allocations(struct filter_sql *sql, const struct filter *filter)
{
    sql->from_ns = widest_or(sql, filter, "from", sql->start_ns);
    sql->to_ns = widest_or(sql, filter, "to", sql->end_ns);
}

int filter_sql_check_instants(const struct filter_sql *sql, const struct filter *filter,
                              struct error *err)
{
    char end[UNITS_TEXT_BYTES];

    for (size_t i = 0; i < filter->n_values; i++) {
        const struct filter_value *value = &filter->values[i];
        bool is_allocation = strcmp(value->parameter->name, "from") == 0;

        if ((is_allocation || value->parameter->type == FILTER_INSTANT) && !value->is_peak
            && !value->is_end && filter_sql_resolve(sql, value) > sql->end_ns)
            return error_set(err, ERROR_USAGE,
                             "%s '%.100s' is after the end of the run; the run is from 0 s to %s",
                             value->parameter->alias ? value->parameter->alias
                                                     : value->parameter->name,
                             value->text, units_format_duration(sql->end_ns, end));
    }
    if (sql->from_ns > sql->to_ns)
        return error_set(err, ERROR_USAGE, "from is after to: the range is empty");
    return 0;
}

/* ---- the range of ids ---- */

/* The allocation times that pass `from`, `to` and all values of `alive_at`. */
static void find_bounds(const struct filter_sql *sql, const struct filter *filter,
                        int64_t *ret_first_ns, int64_t *ret_last_ns)
{
    int64_t last_ns = widest_or(sql, filter, "to", INT64_MAX);

    for (size_t i = 0; i < filter->n_values; i++) {
        const struct filter_value *value = &filter->values[i];
        int64_t ns = filter_sql_resolve(sql, value);

        if (strcmp(value->parameter->name, "alive_at") == 0 && !value->is_peak && !value->is_end
            && ns < last_ns)
            last_ns = ns;
    }
    *ret_first_ns = widest_or(sql, filter, "from", INT64_MIN);
    *ret_last_ns = last_ns;
}

static bool is_range_of_allocations(const struct filter_parameter *parameter)
{
    return strcmp(parameter->name, "from") == 0 || strcmp(parameter->name, "to") == 0;
}

/* If ranges select the rows, a condition of ids must not drive the scan. */
static const char *id_term(const struct filter_sql *sql)
{
    return sql->has_ranges ? "+a.allocation_id" : "a.allocation_id";
}

char *filter_sql_beyond(const struct filter_sql *sql, int64_t id, bool is_before)
{
    const char *compare = is_before ? "<" : ">";

    if (!sql->has_ranges)
        return sqlite3_mprintf(" AND a.allocation_id %s %lld", compare, (long long)id);
    return sqlite3_mprintf(" AND %s %s %lld AND w.%s %s %lld", id_term(sql), compare, (long long)id,
                           is_before ? "first_id" : "last_id", compare, (long long)id);
}

const char *filter_sql_id_order(const struct filter_sql *sql, bool is_dsc)
{
    if (sql->has_ranges)
        return is_dsc ? "w.first_id DESC, a.allocation_id DESC" : "w.first_id, a.allocation_id";
    return is_dsc ? "a.allocation_id DESC" : "a.allocation_id";
}

/* A bound of ids for the rows and for the ranges that may contain them. */
static void append_bound(struct filter_sql *sql, const char *compare, const char *range_column,
                         int64_t id)
{
    int place = bind_number(sql, id);

    sqlite3_str_appendf(sql->row, " AND %s %s ?%d", id_term(sql), compare, place);
    if (sql->has_ranges)
        sqlite3_str_appendf(sql->range, " AND w.%s %s ?%d", range_column, compare, place);
}

/* This covers `from` and `to` completely; `alive_at` has a further condition. */
static int append_ids(struct filter_sql *sql, const struct filter *filter, struct error *err)
{
    int64_t first_ns;
    int64_t last_ns;
    int64_t id = 0;
    int rc = 0;

    find_bounds(sql, filter, &first_ns, &last_ns);
    if (first_ns != INT64_MIN) {
        rc = id_ranges_first(sql->database, first_ns, &id, err);
        append_bound(sql, ">=", "last_id", id);
    }
    if (rc == 0 && last_ns != INT64_MAX) {
        rc = id_ranges_first(sql->database, saturating_add(last_ns, 1), &id, err);
        append_bound(sql, "<", "first_id", id);
    }
    return rc;
}

/* ---- conditions ---- */

static int bind_value(struct filter_sql *sql, const struct filter_value *value)
{
    switch (value->parameter->type) {
    case FILTER_TEXT:
        return add_bound(sql, (struct filter_bound){.text = sqlite3_mprintf("%s", value->text)});
    case FILTER_COUNT_OR_SHARE:
        if (value->is_share)
            return add_bound(sql, (struct filter_bound){.share = value->share, .is_share = true});
        return bind_number(sql, value->number);
    default:
        return bind_number(sql, filter_sql_resolve(sql, value));
    }
}

/* Copies a template; "@" becomes the value, $FROM and $TO the range. */
static void append_template(struct filter_sql *sql, struct sqlite3_str *out, const char *text,
                            const char *value)
{
    for (const char *at = text; *at; at++) {
        if (*at == '@') {
            sqlite3_str_appendall(out, value);
        } else if (strncmp(at, "$FROM", 5) == 0) {
            sqlite3_str_appendf(out, "?%d", bind_number(sql, sql->from_ns));
            at += 4;
        } else if (strncmp(at, "$TO", 3) == 0) {
            sqlite3_str_appendf(out, "?%d", bind_number(sql, sql->to_ns));
            at += 2;
        } else {
            sqlite3_str_appendchar(out, 1, *at);
        }
    }
}

/* A single thread is compared directly; a set would be searched for each row. */
static bool append_only_thread(struct filter_sql *sql, struct sqlite3_str *out, const char *text)
{
    struct sqlite3_stmt *stmt;
    int64_t n = 0;

    if (rundb_prepare(sql->database,
                      "SELECT count(*), max(thread_id) FROM threads"
                      " WHERE ?1 IN (thread_id || '', tid || '', name)",
                      &stmt, NULL)
        != 0)
        return false;
    sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
    if (rundb_step(sql->database, stmt, NULL) == 1)
        n = sqlite3_column_int64(stmt, 0);
    if (n == 1)
        sqlite3_str_appendf(out, "a.thread_id = ?%d",
                            bind_number(sql, sqlite3_column_int64(stmt, 1)));
    sqlite3_finalize(stmt);
    return n == 1;
}

/*
 * Rows of other groups than the root are listed, and so found without reading the others; what the
 * root has is what is not listed for another.
 */
static int append_group(struct filter_sql *sql, struct sqlite3_str *out,
                        const struct filter_value *value, struct error *err)
{
    static const char groups[] =
        "(SELECT group_id FROM allocation_groups WHERE ?%d IN (group_id || '', name))";
    int place = add_bound(sql, (struct filter_bound){.text = sqlite3_mprintf("%s", value->text)});
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(sql->database,
                           "SELECT 1 FROM allocation_groups WHERE group_id = 1 AND"
                           " ?1 IN (group_id || '', name)",
                           &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_text(stmt, 1, value->text, -1, SQLITE_STATIC);
    rc = rundb_step(sql->database, stmt, err);
    sqlite3_finalize(stmt);
    if (rc < 0)
        return rc;
    sqlite3_str_appendall(out, rc == 1 ? "coalesce((SELECT r.group_id FROM group_rows AS r WHERE"
                                         " r.allocation_id = a.allocation_id), 1) IN "
                                       : "a.allocation_id IN (SELECT r.allocation_id FROM"
                                         " group_rows AS r WHERE r.group_id IN ");
    sqlite3_str_appendf(out, groups, place);
    sqlite3_str_appendall(out, rc == 1 ? "" : ")");
    return 0;
}

static int append_condition(struct filter_sql *sql, struct sqlite3_str *out,
                            const struct filter_value *value, struct error *err)
{
    const struct filter_parameter *parameter = value->parameter;
    char placeholder[16];

    if (value->word) {
        append_template(sql, out, value->word->sql, "");
        return 0;
    }
    if (value->is_peak || value->is_end) {
        append_template(sql, out, parameter->sql, value->is_peak ? "p.peak_ns" : "p.end_ns");
        return 0;
    }
    if (strcmp(parameter->name, "thread") == 0 && append_only_thread(sql, out, value->text))
        return 0;
    if (strcmp(parameter->name, "marker") == 0)
        return id_ranges_append_markers(sql->database, value->text, out, err);
    if (strcmp(parameter->name, "phase") == 0)
        return id_ranges_append_phases(sql->database, value->text, out, err);
    if (strcmp(parameter->name, "window") == 0)
        return id_ranges_append_windows(sql->database, value->text, out, err);
    if (strcmp(parameter->name, "group") == 0)
        return append_group(sql, out, value, err);
    sqlite3_snprintf(sizeof(placeholder), placeholder, "?%d", bind_value(sql, value));
    append_template(sql, out,
                    value->is_share && parameter->share_sql ? parameter->share_sql : parameter->sql,
                    placeholder);
    return 0;
}

/* Values of one parameter may concern stacks, groups and rows: the widest scope applies to all. */
static enum filter_scope scope_of(const struct filter *filter,
                                  const struct filter_parameter *parameter)
{
    enum filter_scope scope = FILTER_SCOPE_STACK;

    for (size_t i = 0; i < filter->n_values; i++) {
        const struct filter_value *value = &filter->values[i];

        if (value->parameter == parameter && filter_value_scope(value) > scope)
            scope = filter_value_scope(value);
    }
    return scope;
}

/* A condition of groups in a statement over rows. */
static int append_widened(struct filter_sql *sql, struct sqlite3_str *out,
                          const struct filter_value *value, enum filter_scope scope,
                          struct error *err)
{
    int rc;

    if (scope != FILTER_SCOPE_ROW || filter_value_scope(value) != FILTER_SCOPE_GROUP)
        return append_condition(sql, out, value, err);
    sql->needs |= FILTER_NEEDS_PROCESS;
    sqlite3_str_appendall(out, "(p.process_id, a.backtrace_id) IN (SELECT g.process_id,"
                               " g.backtrace_id FROM main.backtrace_totals AS g WHERE ");
    rc = append_condition(sql, out, value, err);
    sqlite3_str_appendall(out, ")");
    return rc;
}

/* " AND (one value OR another)" */
static int append_parameter(struct filter_sql *sql, const struct filter *filter,
                            const struct filter_parameter *parameter, struct error *err)
{
    enum filter_scope scope = scope_of(filter, parameter);
    struct sqlite3_str *const texts[] = {[FILTER_SCOPE_STACK] = sql->stack,
                                         [FILTER_SCOPE_GROUP] = sql->group,
                                         [FILTER_SCOPE_ROW] = sql->row};
    struct sqlite3_str *out = texts[scope];
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < filter->n_values; i++) {
        const struct filter_value *value = &filter->values[i];

        if (value->parameter != parameter)
            continue;
        sql->needs |= filter_value_scope(value) == FILTER_SCOPE_ROW ? filter_value_needs(value) : 0;
        sqlite3_str_appendall(out, n++ == 0                    ? " AND ("
                                   : parameter->is_conjunctive ? " AND "
                                                               : " OR ");
        rc = append_widened(sql, out, value, scope, err);
    }
    if (n > 0)
        sqlite3_str_appendall(out, ")");
    return rc;
}

/* ---- ranges of rows ---- */

static const char *range_sql(const struct filter_value *value)
{
    return value->word ? value->word->range_sql : value->parameter->range_sql;
}

/* If values of one parameter are joined by OR, all must have a condition of ranges. */
static bool has_range(const struct filter *filter, const struct filter_parameter *parameter)
{
    size_t n = 0;

    for (size_t i = 0; i < filter->n_values; i++) {
        if (filter->values[i].parameter == parameter && !range_sql(&filter->values[i]))
            return false;
        n += filter->values[i].parameter == parameter;
    }
    return n > 0;
}

/* These filters select rows directly; with ranges they would be looked up for each range. */
static bool names_rows(const struct filter *filter)
{
    static const char *const names[] = {"group", "tag", "phase", "window"};

    for (size_t i = 0; i < filter->n_values; i++) {
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            if (strcmp(filter->values[i].parameter->name, names[k]) == 0)
                return true;
        }
    }
    return false;
}

static void append_range(struct filter_sql *sql, const struct filter *filter,
                         const struct filter_parameter *parameter)
{
    size_t n = 0;

    if (!has_range(filter, parameter))
        return;
    for (size_t i = 0; i < filter->n_values; i++) {
        const struct filter_value *value = &filter->values[i];
        char placeholder[16] = "";

        if (value->parameter != parameter)
            continue;
        sqlite3_str_appendall(sql->range, n++ == 0 ? " AND (" : " OR ");
        if (!value->word)
            sqlite3_snprintf(sizeof(placeholder), placeholder, "?%d", bind_value(sql, value));
        append_template(sql, sql->range, range_sql(value), placeholder);
    }
    sqlite3_str_appendall(sql->range, ")");
}

/* A database made by other means may lack ranges, for some or all rows. */
static int are_ranges_complete(const struct filter_sql *sql, int64_t *ret_is_complete,
                               struct error *err)
{
    return rundb_get_int64(sql->database,
                           "SELECT (SELECT last_id FROM row_ranges ORDER BY first_id DESC LIMIT 1)"
                           " IS (SELECT max(allocation_id) FROM allocation_rows)",
                           ret_is_complete, err);
}

/* If more than half of the rows would be read anyway, ranges cost more than they save. */
static int do_ranges_pay(const struct filter_sql *sql, bool *ret_do_pay, struct error *err)
{
    char *text = sqlite3_mprintf("SELECT 2 * count(*) FILTER (WHERE 1%s) < count(*)"
                                 " FROM row_ranges AS w",
                                 sqlite3_str_value(sql->range));
    struct sqlite3_stmt *stmt = NULL;
    int rc = text ? rundb_prepare(sql->database, text, &stmt, err)
                  : error_set(err, ERROR_NOMEM, "no memory for a filter");

    sqlite3_free(text);
    if (rc != 0)
        return rc;
    filter_sql_bind(sql, stmt);
    rc = rundb_step(sql->database, stmt, err);
    *ret_do_pay = rc == 1 && sqlite3_column_int(stmt, 0) != 0;
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

static int choose_ranges(struct filter_sql *sql, const struct filter *filter, struct error *err)
{
    int64_t is_complete = 0;
    int rc;

    if (names_rows(filter))
        return 0;
    for (const struct filter_parameter *p = filter_parameters; p->name; p++)
        append_range(sql, filter, p);
    if (sqlite3_str_length(sql->range) == 0)
        return 0;
    rc = are_ranges_complete(sql, &is_complete, err);
    if (rc == 0 && is_complete)
        rc = do_ranges_pay(sql, &sql->has_ranges, err);
    return rc;
}

/* A name that the recording does not contain is an error, not an empty answer. */
static int check_name(const struct filter_sql *sql, const struct filter_value *value,
                      struct error *err)
{
    char list[320] = "";
    size_t used = 0;
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(sql->database, value->parameter->names_sql, &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(sql->database, stmt, err)) == 1) {
        const char *name = rundb_text(stmt, 0);
        if (strcmp(name, value->text) == 0)
            break;
        if (used + strlen(name) + 3 < sizeof(list)) {
            sqlite3_snprintf((int)(sizeof(list) - used), list + used, "%s%s", used ? ", " : "",
                             name);
            used += strlen(list + used);
        }
    }
    sqlite3_finalize(stmt);
    if (rc == 0 && used == 0)
        return error_set(err, ERROR_USAGE, "%s: '%.100s' matches nothing: the recording has no %ss",
                         value->parameter->name, value->text, value->parameter->name);
    if (rc == 0)
        return error_set(err, ERROR_USAGE, "%s: '%.100s' is unknown; choose from %s",
                         value->parameter->name, value->text, list);
    return rc < 0 ? rc : 0;
}

static int check_names(const struct filter_sql *sql, const struct filter *filter, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < filter->n_values; i++) {
        if (filter->values[i].parameter->names_sql)
            rc = check_name(sql, &filter->values[i], err);
    }
    return rc;
}

/* ---- regular expressions ---- */

static size_t collect(const struct filter *filter, const char *name, const char **ret_patterns,
                      size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < filter->n_values && n < max; i++) {
        if (strcmp(filter->values[i].parameter->name, name) == 0)
            ret_patterns[n++] = filter->values[i].text;
    }
    return n;
}

static int append_selection(struct filter_sql *sql, const struct stack_selection *selection,
                            bool is_negative, struct error *err)
{
    char *ranges;
    int rc;

    if (selection->n_functions + selection->n_sources + selection->n_libraries == 0)
        return 0;
    rc = stack_selection_run(sql->database, selection, &ranges, err);
    if (rc != 0)
        return rc;
    sqlite3_str_appendf(
        sql->stack,
        " AND b.backtrace_id %s (SELECT n.backtrace_id FROM json_each(?%d) AS r CROSS JOIN backtraces AS n"
        " ON n.backtrace_id BETWEEN r.value ->> 0 AND r.value ->> 1)",
        is_negative ? "NOT IN" : "IN", add_bound(sql, (struct filter_bound){.text = ranges}));
    return 0;
}

static int append_regexes(struct filter_sql *sql, const struct filter *filter, struct error *err)
{
    const size_t max = sizeof(((struct stack_selection *)NULL)->functions) / sizeof(char *);
    struct stack_selection frame = {.n_functions = 0};
    struct stack_selection library = {.n_functions = 0};
    struct stack_selection no_function = {.n_functions = 0};
    struct stack_selection no_source = {.n_functions = 0};
    int rc;

    frame.n_functions = collect(filter, "function_regex", frame.functions, max);
    frame.n_sources = collect(filter, "source_regex", frame.sources, max);
    library.n_libraries = collect(filter, "library_regex", library.libraries, max);
    no_function.n_functions =
        collect(filter, "negative_function_regex", no_function.functions, max);
    no_source.n_sources = collect(filter, "negative_source_regex", no_source.sources, max);
    rc = append_selection(sql, &frame, false, err);
    if (rc == 0)
        rc = append_selection(sql, &library, false, err);
    if (rc == 0)
        rc = append_selection(sql, &no_function, true, err);
    return rc == 0 ? append_selection(sql, &no_source, true, err) : rc;
}

int filter_sql_init(struct filter_sql *sql, const struct rundb *database,
                    const struct filter *filter, int64_t process_id, int64_t site_id,
                    struct error *err)
{
    int rc;

    *sql = (struct filter_sql){.database = database, .process_id = process_id};
    sql->stack = sqlite3_str_new(database->handle);
    sql->group = sqlite3_str_new(database->handle);
    sql->row = sqlite3_str_new(database->handle);
    sql->range = sqlite3_str_new(database->handle);
    rc = read_range(sql, err);
    if (rc == 0)
        rc = check_names(sql, filter, err);
    if (rc != 0)
        return rc;
    find_allocations(sql, filter);
    rc = filter_sql_check_instants(sql, filter, err);
    if (rc == 0)
        rc = choose_ranges(sql, filter, err);
    if (rc == 0)
        rc = append_ids(sql, filter, err);
    if (rc != 0)
        return rc;
    for (const struct filter_parameter *p = filter_parameters; rc == 0 && p->name; p++) {
        if (p->type != FILTER_REGEX && !is_range_of_allocations(p))
            rc = append_parameter(sql, filter, p, err);
    }
    if (rc != 0)
        return rc;
    if (site_id)
        sqlite3_str_appendf(sql->stack, " AND b.call_site_id = ?%d", bind_number(sql, site_id));
    return append_regexes(sql, filter, err);
}

void filter_sql_done(struct filter_sql *sql)
{
    struct sqlite3_str *const texts[] = {sql->stack, sql->group, sql->row, sql->range};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        sqlite3_free(sqlite3_str_finish(texts[i]));
    for (size_t i = 0; i < sql->n_bound; i++)
        sqlite3_free(sql->bound[i].text);
}

/* ---- statements ---- */

static const char *value_of(struct sqlite3_str *text)
{
    const char *value = sqlite3_str_value(text);

    return value ? value : "";
}

static void append_stacks(const struct filter_sql *sql, const char *column, struct sqlite3_str *out)
{
    if (sqlite3_str_length(sql->stack) > 0)
        sqlite3_str_appendf(out,
                            " AND %s IN (SELECT b.backtrace_id FROM backtraces AS b WHERE 1%s)",
                            column, value_of(sql->stack));
}

char *filter_sql_stacks(const struct filter_sql *sql, const char *column)
{
    struct sqlite3_str *text = sqlite3_str_new(NULL);

    append_stacks(sql, column, text);
    return sqlite3_str_length(text) > 0
               ? sqlite3_str_finish(text)
               : (sqlite3_free(sqlite3_str_finish(text)), sqlite3_mprintf(""));
}

/* With one selected process, the process drives the scan; with several, the thread of each row
 * gives its process. */
static void append_from(const struct filter_sql *sql, unsigned needs, struct sqlite3_str *out)
{
    bool needs_process = needs & FILTER_NEEDS_PROCESS;

    sqlite3_str_appendall(out, " FROM ");
    if (needs_process && sql->is_of_one_process)
        sqlite3_str_appendall(out, "processes AS p CROSS JOIN ");
    if (sql->has_ranges)
        sqlite3_str_appendall(out, "row_ranges AS w CROSS JOIN ");
    sqlite3_str_appendall(out, "allocation_rows AS a");
    if (needs_process && !sql->is_of_one_process)
        sqlite3_str_appendall(out, " CROSS JOIN threads AS h ON h.thread_id = a.thread_id"
                                   " CROSS JOIN processes AS p ON p.process_id = h.process_id");
    if (needs & FILTER_NEEDS_CHARGE)
        sqlite3_str_appendall(out,
                              " LEFT JOIN group_rows AS q ON q.allocation_id = a.allocation_id");
    if (needs & FILTER_NEEDS_CHAIN)
        sqlite3_str_appendall(out, " LEFT JOIN chain_rows AS c ON c.allocation_id = a.allocation_id"
                                   " LEFT JOIN realloc_chains AS k ON k.chain_id = c.chain_id");
}

char *filter_sql_rows(const struct filter_sql *sql, const char *columns, unsigned extra_needs,
                      const char *tail)
{
    struct sqlite3_str *out = sqlite3_str_new(sql->database->handle);
    bool has_groups = sqlite3_str_length(sql->group) > 0;
    unsigned needs = sql->needs | extra_needs | (has_groups ? FILTER_NEEDS_PROCESS : 0u);

    sqlite3_str_appendf(out, "SELECT %s", columns);
    append_from(sql, needs, out);
    sqlite3_str_appendf(out, " WHERE 1%s", value_of(sql->row));
    if (sql->has_ranges)
        sqlite3_str_appendf(out, " AND a.allocation_id BETWEEN w.first_id AND w.last_id%s",
                            value_of(sql->range));
    if (sql->process_id && needs & FILTER_NEEDS_PROCESS)
        sqlite3_str_appendf(out, " AND p.process_id = %lld", (long long)sql->process_id);
    if (sql->is_restricted)
        sqlite3_str_appendf(
            out, " AND a.thread_id IN (SELECT thread_id FROM threads WHERE process_id = %lld)",
            (long long)sql->process_id);
    append_stacks(sql, "a.backtrace_id", out);
    if (has_groups)
        sqlite3_str_appendf(
            out,
            " AND (p.process_id, a.backtrace_id) IN"
            " (SELECT g.process_id, g.backtrace_id FROM main.backtrace_totals AS g WHERE 1%s)",
            value_of(sql->group));
    sqlite3_str_appendall(out, tail);
    return sqlite3_str_finish(out);
}

char *filter_sql_rows_by_id(const struct filter_sql *sql, const char *columns)
{
    char tail[64];

    sqlite3_snprintf(sizeof(tail), tail, " ORDER BY %s", filter_sql_id_order(sql, false));
    return filter_sql_rows(sql, columns, 0, tail);
}

char *filter_sql_totals(const struct filter_sql *sql, const char *columns)
{
    struct sqlite3_str *out = sqlite3_str_new(sql->database->handle);

    sqlite3_str_appendf(out, "SELECT %s FROM main.backtrace_totals AS g WHERE 1%s", columns,
                        value_of(sql->group));
    if (sql->process_id)
        sqlite3_str_appendf(out, " AND g.process_id = %lld", (long long)sql->process_id);
    append_stacks(sql, "g.backtrace_id", out);
    return sqlite3_str_finish(out);
}

void filter_sql_bind(const struct filter_sql *sql, struct sqlite3_stmt *stmt)
{
    int n_parameters = sqlite3_bind_parameter_count(stmt);

    for (int i = 0; i < (int)sql->n_bound && i < n_parameters; i++) {
        const struct filter_bound *bound = &sql->bound[i];

        if (bound->text)
            sqlite3_bind_text(stmt, i + 1, bound->text, -1, SQLITE_TRANSIENT);
        else if (bound->is_share)
            sqlite3_bind_double(stmt, i + 1, bound->share);
        else
            sqlite3_bind_int64(stmt, i + 1, bound->number);
    }
}

int filter_sql_show(const struct filter_sql *sql, char *text, const char *what, FILE *out,
                    struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = text ? rundb_prepare(sql->database, text, &stmt, err)
                  : error_set(err, ERROR_NOMEM, "no memory for a statement");

    if (rc == 0) {
        (void)fprintf(out, "-- What %s made of:\n", what);
        filter_sql_bind(sql, stmt);
        rundb_show_sql(stmt, out);
    }
    sqlite3_finalize(stmt);
    sqlite3_free(text);
    return rc;
}

int filter_sql_insert(const struct filter_sql *sql, const char *table, char *select,
                      struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    char *text = select ? sqlite3_mprintf("INSERT INTO temp.%s %s", table, select) : NULL;
    int rc = text ? rundb_prepare(sql->database, text, &stmt, err)
                  : error_set(err, ERROR_NOMEM, "no memory for a statement");

    if (rc == 0) {
        filter_sql_bind(sql, stmt);
        rc = rundb_step(sql->database, stmt, err);
    }
    sqlite3_finalize(stmt);
    sqlite3_free(text);
    sqlite3_free(select);
    return rc;
}
