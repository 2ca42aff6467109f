/* SPDX-License-Identifier: MIT */
#include "server/api/values.h"

#include "lib/base/error.h"
#include "queries/api/queries.h"
#include "queries/filter/filter.h"
#include "server/core/request.h"
#include "server/http/exchange.h"

#include <sqlite3.h>
#include <string.h>

#define VALUES_DEFAULT_COUNT "50"

/* Values of parameters for which the table of filters has no names. label NULL: same as the
 * value. */
static const struct {
    const char *parameter;
    const char *sql; /* columns value, label, weight */
} lists[] = {
    {"process",
     "SELECT process_id || '' AS value, 'pid ' || pid || ifnull(' ' || executable, '') AS label,"
     " -process_id AS weight FROM processes"},
    {"site",
     "SELECT s.call_site_id || '' AS value, ifnull(f.name, 'site ' || s.call_site_id)"
     " || ifnull(' at ' || o.path || ':' || s.line, '') AS label, sum(g.allocated_bytes) AS weight"
     " FROM call_sites AS s JOIN backtraces AS b ON b.call_site_id = s.call_site_id"
     " JOIN backtrace_totals AS g ON g.backtrace_id = b.backtrace_id"
     " LEFT JOIN functions AS f ON f.function_id = s.function_id"
     " LEFT JOIN sources AS o ON o.source_id = s.source_id GROUP BY s.call_site_id"},
    {"thread", "SELECT thread_id || '' AS value, 'tid ' || tid || ifnull(' ' || name, '') AS label,"
               " allocated_bytes AS weight FROM threads"},
    {"marker", "SELECT marker_id || '' AS value, name AS label, -marker_id AS weight FROM markers"},
    {"function_regex",
     "SELECT f.name AS value, NULL AS label, sum(t.total_allocated_bytes) AS weight"
     " FROM functions AS f JOIN function_totals AS t ON t.function_id = f.function_id GROUP BY f.name"},
    {"source_regex", "SELECT path AS value, NULL AS label, 0 AS weight FROM sources"},
    {"library_regex",
     "SELECT DISTINCT path AS value, NULL AS label, 0 AS weight FROM objects WHERE path <> ''"},
};

/* negative_function_regex takes what function_regex takes. */
static const char *positive(const char *name)
{
    static const char negative[] = "negative_";
    size_t length = strlen(negative);

    return strncmp(name, negative, length) == 0 ? name + length : name;
}

static const char *find_list(const char *name)
{
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (strcmp(lists[i].parameter, positive(name)) == 0)
            return lists[i].sql;
    return NULL;
}

static const char *names_sql(const char *name)
{
    const struct filter_parameter *filter = filter_find(name, strlen(name));

    return filter ? filter->names_sql : NULL;
}

bool values_has(const struct queries_parameter *parameter)
{
    return find_list(parameter->name) || names_sql(parameter->name);
}

/* The SELECT of all values. Free with sqlite3_free; NULL: no memory. */
static char *make_list(const struct queries_parameter *parameter)
{
    const char *own = find_list(parameter->name);

    if (own)
        return sqlite3_mprintf("%s", own);
    return sqlite3_mprintf("SELECT column1 AS value, NULL AS label, 0 AS weight FROM"
                           " (SELECT NULL AS column1 WHERE 0 UNION %s)",
                           names_sql(parameter->name));
}

static int find_parameter(const struct exchange *exchange, struct queries_parameter *ret,
                          struct error *err)
{
    const char *name = exchange_parameter(exchange, "parameter");
    long index = name ? queries_find_parameter(name, strlen(name)) : -1;

    if (!name)
        return error_set(err, ERROR_USAGE, "values needs parameter: the name of a filter");
    if (index < 0)
        return error_set(err, ERROR_USAGE, "parameter: '%.100s' is no filter", name);
    (void)queries_parameter_at((size_t)index, ret);
    if (values_has(ret))
        return 0;
    return error_set(
        err, ERROR_USAGE,
        "parameter: the values of %s are not listed; /api/v1 names the parameters that have a list",
        ret->name);
}

int values_answer(const struct request_place *place, const struct recording *recording,
                  struct exchange *exchange, struct error *err)
{
    static const char *const own[] = {"parameter", "part", NULL};
    struct request asked = {.command = "sql", .own = own, .is_of_rows = true};
    struct queries_parameter parameter;
    const char *part = exchange_parameter(exchange, "part");
    char *list;
    char *sql;
    int rc = find_parameter(exchange, &parameter, err);

    if (rc != 0)
        return rc;
    if (request_is_known(recording, NULL, exchange))
        return 0;
    list = make_list(&parameter);
    sql = list ? sqlite3_mprintf(
              "SELECT value, ifnull(label, value) AS label FROM (%s)"
              " WHERE instr(lower(value || ' ' || ifnull(label, '')), lower(%Q)) > 0"
              " ORDER BY weight DESC, value LIMIT %s",
              list, part ? part : "",
              exchange_parameter(exchange, "count") ? "-1" : VALUES_DEFAULT_COUNT)
               : NULL;
    asked.argument = sql;
    rc = sql ? request_answer(place, recording, &asked, exchange, err)
             : error_set(err, ERROR_NOMEM, "no memory for a list of values");
    sqlite3_free(list);
    sqlite3_free(sql);
    return rc;
}
