/* SPDX-License-Identifier: MIT */
/*
 * image_findings: what the program could no longer reach at its last heap image, and what held the
 * rest.
 */
#ifndef MTRACE_QUERIES_IMAGE_FINDINGS_H
#define MTRACE_QUERIES_IMAGE_FINDINGS_H

#include "queries/reports/finding.h"

int image_findings_add(const struct finding_run *run, struct error *err);

#endif
