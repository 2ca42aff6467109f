/* SPDX-License-Identifier: MIT */
/* live --at TIME: what was live at an instant, by call site; other filters hold as well. */
#include "queries/commands.h"
#include "queries/query.h"
#include "support/error.h"

int cmd_live_run(struct query *query, struct error *err)
{
    const struct filter *filter = &query->options->filter;

    for (size_t i = 0; i < filter->n_values; i++) {
        if (filter->values[i].parameter == filter_find("alive_at", 8))
            return cmd_report_run(query, err);
    }
    return error_set(err, ERROR_USAGE,
                     "live needs --at TIME: a time, a percentage of the run, peak or end");
}
