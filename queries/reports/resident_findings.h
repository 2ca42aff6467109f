/* SPDX-License-Identifier: MIT */
/*
 * resident_findings: resident memory that no live block explains. It compares the memory samples
 * that have parts with the live bytes of the timeline.
 */
#ifndef MTRACE_QUERIES_RESIDENT_FINDINGS_H
#define MTRACE_QUERIES_RESIDENT_FINDINGS_H

#include "queries/reports/finding.h"

enum {
    RESIDENT_PARTS = 6, /* columns of memory_samples from heap_resident_bytes on */
    RESIDENT_TEXT_BYTES = 512
};

/* "2.0 MiB heaps + 1.0 MiB own mappings + …". other: what to call the heaps; NULL: "heaps". */
const char *resident_parts_format(const int64_t parts[RESIDENT_PARTS], const char *other,
                                  char ret_text[RESIDENT_TEXT_BYTES]);

/* Free memory that the allocator kept. ret_kept: the finding about it; NULL: none. */
int resident_findings_add_kept(const struct finding_run *run, struct finding **ret_kept,
                               struct error *err);

/* Growing mappings that are not blocks. */
int resident_findings_add_mappings(const struct finding_run *run, struct error *err);

#endif
