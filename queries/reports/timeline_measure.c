/* SPDX-License-Identifier: MIT */
#include "queries/reports/timeline_measure.h"

#include "queries/filter/filter_sql.h"
#include "queries/question/command.h"
#include "queries/question/query.h"
#include "support/error.h"
#include "support/units.h"

#include <string.h>

static const struct timeline_measure measures[] = {
    {"live", TIME_ROWS_ALL, SITE_TIMES_LIVE, "peak_bytes", "live_blocks"},
    {"allocated", TIME_ROWS_ALL, SITE_TIMES_BORN, "allocated_bytes", "allocated_blocks"},
    {"freed", TIME_ROWS_ALL, SITE_TIMES_ENDED, "freed_bytes", "freed_blocks"},
    {"leaked", TIME_ROWS_LEAKED, SITE_TIMES_LIVE, "peak_bytes", "live_blocks"},
    {"temporary", TIME_ROWS_TEMPORARY, SITE_TIMES_BORN, "allocated_bytes", "allocated_blocks"},
};

int timeline_measure_of(const struct query *query, const struct timeline_measure **ret,
                        struct error *err)
{
    const char *asked = query->options->measure;

    *ret = &measures[0];
    if (!asked)
        return 0;
    for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
        *ret = &measures[i];
        if (strcmp(asked, measures[i].name) == 0)
            return 0;
    }
    return error_set(err, ERROR_USAGE,
                     "measure '%s': over time it is live, allocated, freed, leaked or temporary",
                     asked);
}

struct timeline_range timeline_range_of(const struct query *query)
{
    struct timeline_range range = {.filter.n_values = 0};

    /* In the page of `report` the range is of births, as for all else that it has. */
    if (!query->options->command->is_over_time)
        return (struct timeline_range){.filter = query->options->filter};
    for (size_t i = 0; i < query->options->filter.n_values; i++) {
        const struct filter_value *value = &query->options->filter.values[i];

        if (strcmp(value->parameter->name, "from") == 0)
            range.from = value;
        else if (strcmp(value->parameter->name, "to") == 0)
            range.to = value;
        else
            range.filter.values[range.filter.n_values++] = *value;
    }
    return range;
}

int timeline_range_resolve(const struct timeline_range *range, const struct filter_sql *sql,
                           int64_t *ret_from_ns, int64_t *ret_to_ns, struct error *err)
{
    char end[UNITS_TEXT_BYTES];

    *ret_from_ns = range->from ? filter_sql_resolve(sql, range->from) : INT64_MIN;
    *ret_to_ns = range->to ? filter_sql_resolve(sql, range->to) : INT64_MAX;
    if (*ret_from_ns >= *ret_to_ns)
        return error_set(err, ERROR_USAGE, "from is not before to: there is no time between them");
    if (*ret_from_ns >= sql->end_ns)
        return error_set(err, ERROR_USAGE, "from is after the end of the run at %s",
                         units_format_duration(sql->end_ns, end));
    return 0;
}
