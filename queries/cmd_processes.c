/* SPDX-License-Identifier: MIT */
/* processes: what --process may be, and what each of them leaked and had at its peak. */
#include "queries/commands.h"
#include "queries/process_ranking.h"

int cmd_processes_run(struct query *query, struct error *err)
{
    return cmd_report_show(query, process_ranking_source, err);
}
