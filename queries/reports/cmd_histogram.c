/* SPDX-License-Identifier: MIT */
/* size-histogram, lifetime-histogram: the rows, and as a picture bars: what leaked, and of sizes what was temporary, apart. */
#include "queries/core/command.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/core/report.h"
#include "queries/render/svg.h"
#include "queries/reports/histogram_picture.h"
#include "queries/reports/reports.h"

#include <string.h>

int cmd_histogram_run(struct query *query, struct error *err)
{
    bool is_of_sizes = strcmp(query->options->command->view, "size_histogram") == 0;
    int rc;

    if (!query_is_picture(query->output_name))
        return report_run(query, err);
    rc = svg_check_output(&query->style, err);
    return rc == 0 ? histogram_picture_draw(query, is_of_sizes, false, err) : rc;
}
