/* SPDX-License-Identifier: MIT */
/*
 * leak_findings: findings about blocks that were never freed, and about memory that keeps growing.
 *
 * Call sites that leak the same number of blocks, or a multiple, at the same times are parts of one
 * object and one finding. Blocks that came once, or stopped coming, share a finding.
 */
#ifndef MTRACE_QUERIES_LEAK_FINDINGS_H
#define MTRACE_QUERIES_LEAK_FINDINGS_H

struct error;
struct finding_run;

int leak_findings_add(const struct finding_run *run, struct error *err);

#endif
