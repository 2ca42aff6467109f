/* SPDX-License-Identifier: MIT */
/*
 * findings: what to look at first in a run, as at most five sentences.
 *
 * The summary, the HTML report and the pages of mtrace-serve begin with the same findings. Order:
 * severity, but leaks before churn, then cost: the share of the peak for memory, the share of the
 * run for time.
 */
#ifndef MTRACE_QUERIES_FINDINGS_H
#define MTRACE_QUERIES_FINDINGS_H

#include "queries/reports/finding.h"

#include <stdio.h>

/* numbers: of the same process. */
int findings_collect(const struct query *query, int64_t process_id,
                     const struct summary_numbers *numbers, struct findings *findings,
                     struct error *err);

/* Only those about resident memory that no live block explains. */
int findings_collect_unused(const struct query *query, int64_t process_id,
                            const struct summary_numbers *numbers, struct findings *findings,
                            struct error *err);

/* Prints nothing if there are none. */
void findings_print(const struct query *query, const struct findings *findings);

/* An array with an object per finding. */
void findings_put_json(const struct query *query, const struct findings *findings, FILE *out);

#endif
