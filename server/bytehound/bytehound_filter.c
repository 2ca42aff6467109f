/* SPDX-License-Identifier: MIT */
#include "server/bytehound/bytehound_filter.h"

#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/base/units.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/http/exchange.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char jemalloc_kinds[] =
    "(a.call_code & 31) IN (SELECT kind FROM kinds WHERE name IN ('mallocx', 'rallocx', 'smallocx'))";

enum value_kind {
    AS_IT_IS,
    TIME_FROM,     /* ms since the epoch, or a percentage */
    TIME_TO,       /* the same, with all of that ms */
    INTERVAL,      /* h, m, s, ms, us in any case; blanks */
    PLACE_FROM_0,  /* ours counts from 1 */
    PEAK_OF_GROUP, /* TIME_FROM, of the group's own peak */
    JEMALLOC,
    FROM_MAP,
    REFUSED,
};

static const struct known {
    const char *name;
    const char *ours; /* NULL: a condition of its own */
    enum value_kind kind;
} knowns[] = {
    {"from", "from", TIME_FROM},
    {"to", "to", TIME_TO},
    {"alive_at", "alive_at", TIME_FROM},
    {"alive_at_2", "alive_at", TIME_FROM},
    {"lifetime", "lifetime", AS_IT_IS},
    {"lifetime_min", "lifetime_min", INTERVAL},
    {"lifetime_max", "lifetime_max", INTERVAL},
    {"chain_lifetime_min", "chain_lifetime_min", INTERVAL},
    {"chain_lifetime_max", "chain_lifetime_max", INTERVAL},
    {"group_interval_min", "group_interval_min", INTERVAL},
    {"group_interval_max", "group_interval_max", INTERVAL},
    {"position_in_chain_min", "position_in_chain_min", PLACE_FROM_0},
    {"position_in_chain_max", "position_in_chain_max", PLACE_FROM_0},
    {"backtraces", "backtrace", AS_IT_IS},
    {"deallocation_backtraces", "deallocation_backtrace", AS_IT_IS},
    {"group_max_total_usage_first_seen_min", ">=", PEAK_OF_GROUP},
    {"group_max_total_usage_first_seen_max", "<=", PEAK_OF_GROUP},
    {"jemalloc", NULL, JEMALLOC},
    {"from_map", NULL, FROM_MAP},
    {"custom_filter", NULL, REFUSED},
};

/* Filters with the same name in both. */
static const char *const same[] = {"address_min",
                                   "address_max",
                                   "size_min",
                                   "size_max",
                                   "first_size_min",
                                   "first_size_max",
                                   "last_size_min",
                                   "last_size_max",
                                   "chain_length_min",
                                   "chain_length_max",
                                   "backtrace_depth_min",
                                   "backtrace_depth_max",
                                   "mmaped",
                                   "arena",
                                   "function_regex",
                                   "source_regex",
                                   "negative_function_regex",
                                   "negative_source_regex",
                                   "marker",
                                   "group_leaked_allocations_min",
                                   "group_leaked_allocations_max",
                                   "group_allocations_min",
                                   "group_allocations_max",
                                   NULL};

/* Filters on columns of mappings: conditions over mmaps AS m. */
static const struct map_known {
    const char *name;
    const char *condition; /* with %lld, or as it is for "only_true" */
    enum value_kind kind;
    bool is_word; /* only_true, only_false */
} map_knowns[] = {
    {"from", "m.mapped_ns >= %lld", TIME_FROM, false},
    {"to", "m.mapped_ns <= %lld", TIME_TO, false},
    {"alive_at", "m.mapped_ns <= %lld AND (m.unmapped_ns IS NULL OR m.unmapped_ns > %lld)",
     TIME_FROM, false},
    {"alive_at_2", "m.mapped_ns <= %lld AND (m.unmapped_ns IS NULL OR m.unmapped_ns > %lld)",
     TIME_FROM, false},
    {"address_min", "m.address >= %lld", AS_IT_IS, false},
    {"address_max", "m.address <= %lld", AS_IT_IS, false},
    {"size_min", "m.length >= %lld", AS_IT_IS, false},
    {"size_max", "m.length <= %lld", AS_IT_IS, false},
    {"lifetime_min", "ifnull(m.unmapped_ns, p.end_ns) - m.mapped_ns >= %lld", INTERVAL, false},
    {"lifetime_max", "ifnull(m.unmapped_ns, p.end_ns) - m.mapped_ns <= %lld", INTERVAL, false},
    {"backtraces", "m.backtrace_id = %lld", AS_IT_IS, false},
    {"deallocation_backtraces", "m.unmap_backtrace_id = %lld", AS_IT_IS, false},
    {"peak_rss_min", "m.peak_rss_bytes >= %lld", AS_IT_IS, false},
    {"peak_rss_max", "m.peak_rss_bytes <= %lld", AS_IT_IS, false},
    {"readable", "(m.prot & 1) <> 0", AS_IT_IS, true},
    {"writable", "(m.prot & 2) <> 0", AS_IT_IS, true},
    {"executable", "(m.prot & 4) <> 0", AS_IT_IS, true},
    {"jemalloc", "0", AS_IT_IS, true},
    {"bytehound", "0", AS_IT_IS, true},
};

/* ---- values ---- */

static int fail(const char *name, const char *value, const char *wanted, struct error *err)
{
    return error_set(err, ERROR_USAGE, "%s: '%.100s' is not %s", name, value, wanted);
}

static bool is_percent(const char *value)
{
    size_t length = strlen(value);

    return length > 1 && value[length - 1] == '%';
}

/* A plain number of any size is milliseconds since the epoch. */
static int parse_time(const struct bytehound *self, const char *name, const char *value, bool is_to,
                      int64_t *ret_ns, struct error *err)
{
    uint64_t ms;
    double share;
    int64_t ns;

    if (is_percent(value)) {
        if (units_parse_percent(value, &share, NULL) != 0)
            return fail(name, value, "a percentage from 0 to 100", err);
        *ret_ns = (int64_t)(share * (double)self->end_ns);
        return 0;
    }
    if (units_parse_count(value, &ms, NULL) != 0 || ms > INT64_MAX / 1000001)
        return fail(name, value, "a time: milliseconds since the epoch, or a percentage", err);
    ns = (int64_t)ms * 1000000 + (is_to ? 999999 : 0);
    *ret_ns = saturating_subtract(ns, self->start_unix_ns);
    return 0;
}

static int parse_interval(const char *name, const char *value, int64_t *ret_ns, struct error *err)
{
    char lower[BYTEHOUND_TEXT_BYTES] = "";
    uint64_t ns;

    for (size_t i = 0; value[i] && i + 1 < sizeof(lower); i++)
        lower[i] = (char)tolower((unsigned char)value[i]);
    if (strlen(value) >= sizeof(lower) || units_parse_duration(lower, &ns, NULL) != 0)
        return fail(name, value, "an interval, as 4h3m2s or 100ms", err);
    *ret_ns = (int64_t)ns;
    return 0;
}

static int parse_number(const char *name, const char *value, int64_t *ret_number, struct error *err)
{
    char *end;
    unsigned long long number = strtoull(value, &end, 0);

    if (!isdigit((unsigned char)*value) || *end || number > INT64_MAX)
        return fail(name, value, "a number", err);
    *ret_number = (int64_t)number;
    return 0;
}

static int parse_kind(const struct bytehound *self, enum value_kind kind, const char *name,
                      const char *value, int64_t *ret, struct error *err)
{
    switch (kind) {
    case TIME_FROM:
    case TIME_TO:
    case PEAK_OF_GROUP:
        return parse_time(self, name, value, kind == TIME_TO, ret, err);
    case INTERVAL:
        return parse_interval(name, value, ret, err);
    default:
        return parse_number(name, value, ret, err);
    }
}

/* ---- of allocations ---- */

static int add(struct bytehound_filter *filter, const char *ours, const char *text,
               struct error *err)
{
    return filter_add(&filter->filter, filter_find(ours, strlen(ours)), text, err);
}

static int add_number(struct bytehound_filter *filter, const char *ours, int64_t number,
                      const char *unit, struct error *err)
{
    size_t at = filter->filter.n_values;

    if (at == FILTER_MAX_VALUES)
        return error_set(err, ERROR_USAGE, "more than %d filters", FILTER_MAX_VALUES);
    (void)snprintf(filter->texts[at], BYTEHOUND_TEXT_BYTES, "%" PRId64 "%s", number, unit);
    return add(filter, ours, filter->texts[at], err);
}

/* Nothing happened before time 0: a `from` before it passes everything, other parameters pass
 * nothing. */
static int add_time(struct bytehound_filter *filter, const struct known *known, int64_t at_ns,
                    struct error *err)
{
    if (at_ns >= 0)
        return add_number(filter, known->ours, at_ns, "ns", err);
    if (strcmp(known->ours, "from") != 0)
        sqlite3_str_appendall(filter->more, " AND 0");
    return 0;
}

static int add_jemalloc(struct bytehound_filter *filter, const char *value, struct error *err)
{
    bool is_yes = strcmp(value, "yes") == 0;

    if (!is_yes && strcmp(value, "no") != 0)
        return fail("jemalloc", value, "yes or no", err);
    sqlite3_str_appendf(filter->more, " AND %s%s", is_yes ? "" : "NOT ", jemalloc_kinds);
    return 0;
}

static void add_map(struct bytehound_filter *filter, int64_t id)
{
    sqlite3_str_appendf(
        filter->more,
        " AND EXISTS (SELECT 1 FROM mmaps AS m WHERE m.mmap_call_id = %lld"
        " AND a.address < m.address + m.length AND a.address + max(1, a.size_bytes) > m.address"
        " AND a.alloc_ns >= m.mapped_ns AND (m.unmapped_ns IS NULL OR a.alloc_ns < m.unmapped_ns))",
        (long long)id);
}

static int add_known(struct bytehound_filter *filter, const struct bytehound *self,
                     const struct known *known, const char *value, struct error *err)
{
    int64_t number = 0;
    int rc;

    if (known->kind == AS_IT_IS)
        return add(filter, known->ours, value, err);
    if (known->kind == JEMALLOC)
        return add_jemalloc(filter, value, err);
    if (known->kind == REFUSED)
        return error_set(err, ERROR_USAGE,
                         "custom_filter: scripts are answered by SQL: POST /api/v1/RECORDING/sql");
    if (known->kind == INTERVAL && is_percent(value))
        return add(filter, known->ours, value, err);
    rc = parse_kind(self, known->kind, known->name, value, &number, err);
    if (rc != 0)
        return rc;
    switch (known->kind) {
    case TIME_FROM:
    case TIME_TO:
        return add_time(filter, known, number, err);
    case INTERVAL:
        return add_number(filter, known->ours, number, "ns", err);
    case PLACE_FROM_0:
        return add_number(filter, known->ours, saturating_add(number, 1), "", err);
    case PEAK_OF_GROUP:
        sqlite3_str_appendf(
            filter->more,
            " AND a.backtrace_id IN (SELECT g.backtrace_id FROM backtrace_totals AS g"
            " WHERE g.own_peak_ns %s %lld)",
            known->ours, (long long)number);
        return 0;
    default:
        add_map(filter, number);
        return 0;
    }
}

static bool is_in(const char *const *names, const char *name)
{
    while (names && *names && strcmp(*names, name) != 0)
        names++;
    return names && *names;
}

static int add_parameter(struct bytehound_filter *filter, const struct bytehound *self,
                         const char *name, const char *value, struct error *err)
{
    for (size_t i = 0; i < sizeof(knowns) / sizeof(knowns[0]); i++)
        if (strcmp(knowns[i].name, name) == 0)
            return add_known(filter, self, &knowns[i], value, err);
    if (is_in(same, name))
        return add(filter, name, value, err);
    return error_set(err, ERROR_USAGE, "'%.100s' is not a parameter of bytehound's filter", name);
}

/* ---- of mappings ---- */

static int add_map_word(struct bytehound_filter *filter, const struct map_known *known,
                        const char *value, struct error *err)
{
    bool is_true = strcmp(value, "only_true") == 0;

    if (!is_true && strcmp(value, "only_false") != 0)
        return fail(known->name, value, "only_true or only_false", err);
    sqlite3_str_appendf(filter->more, " AND %s(%s)", is_true ? "" : "NOT ", known->condition);
    return 0;
}

static int add_map_lifetime(struct bytehound_filter *filter, const char *value, struct error *err)
{
    if (strcmp(value, "only_leaked") == 0)
        sqlite3_str_appendall(filter->more, " AND m.unmapped_ns IS NULL");
    else if (strcmp(value, "only_temporary") == 0)
        sqlite3_str_appendall(filter->more, " AND m.unmapped_ns IS NOT NULL");
    else if (strcmp(value, "all") != 0)
        return fail("lifetime", value, "all, only_leaked or only_temporary", err);
    return 0;
}

static int add_map_known(struct bytehound_filter *filter, const struct bytehound *self,
                         const struct map_known *known, const char *value, struct error *err)
{
    int64_t number = 0;
    int rc;

    if (known->is_word)
        return add_map_word(filter, known, value, err);
    rc = parse_kind(self, known->kind, known->name, value, &number, err);
    if (rc != 0)
        return rc;
    sqlite3_str_appendall(filter->more, " AND ");
    sqlite3_str_appendf(filter->more, known->condition, (long long)number, (long long)number);
    return 0;
}

/* Stacks are selected like those of allocations. */
static int add_map_parameter(struct bytehound_filter *filter, const struct bytehound *self,
                             const char *name, const char *value, struct error *err)
{
    const struct filter_parameter *ours;

    for (size_t i = 0; i < sizeof(map_knowns) / sizeof(map_knowns[0]); i++)
        if (strcmp(map_knowns[i].name, name) == 0)
            return add_map_known(filter, self, &map_knowns[i], value, err);
    if (strcmp(name, "lifetime") == 0)
        return add_map_lifetime(filter, value, err);
    ours = is_in(same, name) ? filter_find(name, strlen(name)) : NULL;
    if (ours && ours->scope == FILTER_SCOPE_STACK && !ours->words)
        return filter_add(&filter->filter, ours, value, err);
    return error_set(err, ERROR_USAGE, "'%.100s' is not a parameter of bytehound's filter of maps",
                     name);
}

/* ---- the whole ---- */

static const char *const every[] = {"token", "strip_template_args", NULL};
static const char *const rows_parameters[] = {"skip", "count", "sort_by", "order", NULL};

static int read_rows(struct bytehound_filter *filter, const struct bytehound *self,
                     struct error *err)
{
    const char *skip = exchange_parameter(self->exchange, "skip");
    const char *count = exchange_parameter(self->exchange, "count");
    const char *order = exchange_parameter(self->exchange, "order");
    int rc = skip ? parse_number("skip", skip, &filter->skip, err) : 0;

    filter->count = -1;
    filter->sort_by = exchange_parameter(self->exchange, "sort_by");
    if (rc == 0 && count)
        rc = parse_number("count", count, &filter->count, err);
    filter->is_descending = order && strcmp(order, "dsc") == 0;
    if (rc == 0 && order && !filter->is_descending && strcmp(order, "asc") != 0)
        rc = fail("order", order, "asc or dsc", err);
    return rc;
}

static void append_map_stacks(struct bytehound_filter *filter)
{
    if (sqlite3_str_length(filter->sql.stack) > 0)
        sqlite3_str_appendf(filter->more,
                            " AND m.backtrace_id IN (SELECT b.backtrace_id FROM backtraces AS b"
                            " WHERE 1%s)",
                            sqlite3_str_value(filter->sql.stack));
}

static int add_any(struct bytehound_filter *filter, const struct bytehound *self, const char *name,
                   const char *value, struct error *err)
{
    switch (self->endpoint->takes) {
    case BYTEHOUND_TAKES_ROWS:
        return add_parameter(filter, self, name, value, err);
    case BYTEHOUND_TAKES_MAPS:
        return add_map_parameter(filter, self, name, value, err);
    default:
        return error_set(err, ERROR_USAGE, "'%.100s' is not a parameter of %s, which takes none",
                         name, self->endpoint->name);
    }
}

static int read_parameters(struct bytehound_filter *filter, const struct bytehound *self,
                           struct error *err)
{
    const bool has_rows = self->endpoint->takes != BYTEHOUND_TAKES_NOTHING;
    int rc = has_rows ? read_rows(filter, self, err) : 0;

    for (size_t i = 0; i < self->exchange->n_parameters && rc == 0; i++) {
        const char *name = self->exchange->parameters[i].name;

        if (!is_in(every, name) && !is_in(self->endpoint->own, name)
            && !(has_rows && is_in(rows_parameters, name)))
            rc = add_any(filter, self, name, self->exchange->parameters[i].value, err);
    }
    return rc;
}

/* Checks the syntax of times as if the recording began at the epoch: the start does not matter for
 * that. */
int bytehound_filter_check(const struct bytehound *self, struct error *err)
{
    struct bytehound_filter filter = {.more = sqlite3_str_new(NULL)};
    int rc = read_parameters(&filter, self, err);

    sqlite3_free(sqlite3_str_finish(filter.more));
    return rc;
}

int bytehound_filter_init(struct bytehound_filter *filter, const struct bytehound *self,
                          struct error *err)
{
    int rc;

    *filter = (struct bytehound_filter){.more = sqlite3_str_new(self->database.handle)};
    rc = read_parameters(filter, self, err);
    if (rc == 0)
        rc = filter_sql_init(&filter->sql, &self->database, &filter->filter, 0, 0, err);
    if (rc == 0 && self->endpoint->takes == BYTEHOUND_TAKES_MAPS)
        append_map_stacks(filter);
    return rc;
}

void bytehound_filter_done(struct bytehound_filter *filter)
{
    filter_sql_done(&filter->sql);
    sqlite3_free(sqlite3_str_finish(filter->more));
}

static const char *more(const struct bytehound_filter *filter)
{
    const char *text = sqlite3_str_value(filter->more);

    return text ? text : "";
}

char *bytehound_filter_rows(const struct bytehound_filter *filter, const char *columns,
                            const char *tail)
{
    char *all = sqlite3_mprintf("%s %s", more(filter), tail);
    char *sql = all ? filter_sql_rows(&filter->sql, columns, 0, all) : NULL;

    sqlite3_free(all);
    return sql;
}

bool bytehound_filter_is_of_groups(const struct bytehound_filter *filter)
{
    return sqlite3_str_length(filter->more) == 0
           && filter_scope_of(&filter->filter) != FILTER_SCOPE_ROW;
}

int bytehound_filter_prepare(const struct bytehound_filter *filter, const struct bytehound *self,
                             char *sql, struct sqlite3_stmt **ret_stmt, struct error *err)
{
    int rc = sql ? rundb_prepare(&self->database, sql, ret_stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    if (rc == 0)
        filter_sql_bind(&filter->sql, *ret_stmt);
    return rc;
}

/* ---- lists ---- */

int bytehound_filter_key(const struct bytehound_filter *filter,
                         const struct bytehound_sort_key *keys, const char **ret_column,
                         struct error *err)
{
    const char *name = filter->sort_by;
    char list[512];
    size_t used = 0;

    *ret_column = keys[0].column;
    for (const struct bytehound_sort_key *key = keys; name && key->name; key++) {
        if (strcmp(key->name, name) == 0) {
            *ret_column = key->column;
            return 0;
        }
        used += used < sizeof(list) ? (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
                                                       used ? ", " : "", key->name)
                                    : 0;
    }
    return name ? error_set(err, ERROR_USAGE, "sort_by: '%.100s' is none of %s", name, list) : 0;
}

int bytehound_filter_put_total(const struct bytehound_filter *filter, const struct bytehound *self,
                               char *sql, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = bytehound_filter_prepare(filter, self, sql, &stmt, err);

    if (rc == 0)
        rc = rundb_step(&self->database, stmt, err);
    if (rc == 1)
        (void)fprintf(self->out, "],\n\"total_count\":%lld}\n",
                      (long long)sqlite3_column_int64(stmt, 0));
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}
