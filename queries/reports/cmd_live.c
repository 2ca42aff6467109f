/* SPDX-License-Identifier: MIT */
/* live --at TIME: what was live at an instant, by call site; other filters hold as well. */
#include "queries/question/query.h"
#include "queries/question/report.h"
#include "queries/reports/reports.h"
#include "support/error.h"

int cmd_live_run(struct query *query, struct error *err)
{
    if (filter_instant(&query->options->filter))
        return report_run(query, err);
    return error_set(err, ERROR_USAGE,
                     "live needs --at TIME: a time, a percentage of the run, peak or end");
}
