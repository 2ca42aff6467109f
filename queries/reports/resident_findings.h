/* SPDX-License-Identifier: MIT */
/*
 * resident_findings: resident memory that no live block explains. It compares the memory samples
 * that have parts with the live bytes of the timeline.
 */
#ifndef MTRACE_QUERIES_RESIDENT_FINDINGS_H
#define MTRACE_QUERIES_RESIDENT_FINDINGS_H

#include "queries/reports/finding.h"

/* Free memory that the allocator kept. ret_kept: the finding about it; NULL: none. */
int resident_findings_add_kept(const struct finding_run *run, struct finding **ret_kept,
                               struct error *err);

/* Growing mappings that are not blocks. */
int resident_findings_add_mappings(const struct finding_run *run, struct error *err);

#endif
