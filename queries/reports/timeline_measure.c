/* SPDX-License-Identifier: MIT */
#include "queries/reports/timeline_measure.h"

#include "lib/base/error.h"
#include "queries/core/command.h"
#include "queries/core/query.h"
#include "queries/filter/filter_sql.h"

#include <string.h>

static const struct timeline_measure measures[] = {
    {"live", TIME_ROWS_ALL, SITE_CURVES_LIVE, "peak_bytes", "live_blocks"},
    {"allocated", TIME_ROWS_ALL, SITE_CURVES_ALLOCATED, "allocated_bytes", "allocated_blocks"},
    {"freed", TIME_ROWS_ALL, SITE_CURVES_ENDED, "freed_bytes", "freed_blocks"},
    {"leaked", TIME_ROWS_LEAKED, SITE_CURVES_LIVE, "peak_bytes", "live_blocks"},
    {"temporary", TIME_ROWS_TEMPORARY, SITE_CURVES_ALLOCATED, "allocated_bytes",
     "allocated_blocks"},
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
    const struct filter *asked = &query->options->filter;
    struct timeline_range range = {.asked = asked};

    /* On the page of `report` the range selects allocation times, as for its other parts. */
    if (!query->options->command->is_over_time)
        return (struct timeline_range){.filter = *asked};
    for (size_t i = 0; i < asked->n_values; i++) {
        const char *name = asked->values[i].parameter->name;

        if (strcmp(name, "from") == 0 || strcmp(name, "to") == 0)
            range.is_part = true;
        else
            range.filter.values[range.filter.n_values++] = asked->values[i];
    }
    return range;
}

int timeline_range_resolve(const struct timeline_range *range, const struct filter_sql *sql,
                           int64_t *ret_from_ns, int64_t *ret_to_ns, struct error *err)
{
    const struct filter none = {.n_values = 0};

    return filter_sql_range(sql, range->is_part ? range->asked : &none, ret_from_ns, ret_to_ns,
                            err);
}
