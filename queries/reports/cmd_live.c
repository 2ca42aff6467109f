/* SPDX-License-Identifier: MIT */
/* live --at TIME: what was live at an instant, by call site; other filters hold as well. */
#include "queries/command_line/commands.h"
#include "queries/database/query.h"
#include "support/error.h"

int cmd_live_run(struct query *query, struct error *err)
{
    if (filter_instant(&query->options->filter))
        return cmd_report_run(query, err);
    return error_set(err, ERROR_USAGE,
                     "live needs --at TIME: a time, a percentage of the run, peak or end");
}
