/* SPDX-License-Identifier: MIT */
/*
 * groups: all allocations of one stack. With filters, columns are of the matching allocations and
 * all_… of the whole group. The sort keys only_matched.* and all.* are other names of these
 * columns.
 */
#include "lib/base/error.h"
#include "queries/core/query.h"
#include "queries/core/report.h"
#include "queries/core/report_sql.h"
#include "queries/reports/reports.h"

#include <string.h>

static const char matched_source[] =
    "(SELECT g.*, t.allocated_blocks AS all_allocated_blocks, t.allocated_bytes AS all_allocated_bytes,"
    " t.leaked_blocks AS all_leaked_blocks, t.leaked_bytes AS all_leaked_bytes, t.first_ns AS all_first_ns,"
    " t.last_ns AS all_last_ns, t.last_ns - t.first_ns AS all_interval_ns"
    " FROM groups AS g CROSS JOIN main.backtrace_totals AS t"
    " ON t.process_id = g.process_id AND t.backtrace_id = g.backtrace_id"
    " ORDER BY g.allocated_bytes DESC, g.allocated_blocks DESC, g.process_id, g.backtrace_id)";

static const struct {
    const char *name; /* after only_matched. or all. */
    const char *matched;
    const char *all;
} keys[] = {
    {"min_timestamp", "first_ns", "all_first_ns"},
    {"max_timestamp", "last_ns", "all_last_ns"},
    {"interval", "interval_ns", "all_interval_ns"},
    {"allocated_count", "allocated_blocks", "all_allocated_blocks"},
    {"leaked_count", "leaked_blocks", "all_leaked_blocks"},
    {"size", "allocated_bytes", "all_allocated_bytes"},
};

static const char *behind(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* The column of a sort key; other texts are column names. */
static const char *column_of(const char *sort_by)
{
    const char *matched = behind(sort_by, "only_matched.");
    const char *all = behind(sort_by, "all.");

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (matched && strcmp(matched, keys[i].name) == 0)
            return keys[i].matched;
        if (all && strcmp(all, keys[i].name) == 0)
            return keys[i].all;
    }
    return sort_by;
}

int cmd_groups_run(struct query *query, struct error *err)
{
    const struct query_options *asked = query->options;
    struct query_options options = *asked;
    bool is_plain =
        options.filter.n_values == 0 && !(options.sort_by && behind(options.sort_by, "all."));
    int rc;

    if (options.sort_by)
        options.sort_by = column_of(options.sort_by);
    query->options = &options;
    rc = report_show(query, is_plain ? "groups" : matched_source, err);
    query->options = asked;
    return rc;
}
