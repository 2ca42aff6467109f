/* SPDX-License-Identifier: MIT */
/* reports: the functions of commands (command.h); cmd_<name>.c implements cmd_<name>_run. */
#ifndef MTRACE_QUERIES_REPORTS_H
#define MTRACE_QUERIES_REPORTS_H

struct error;
struct query;

int cmd_holes_run(struct query *query, struct error *err);
int cmd_fragmentation_below(struct query *query, struct error *err);
int cmd_heap_map_run(struct query *query, struct error *err);
int cmd_groups_run(struct query *query, struct error *err);
int cmd_leaks_run(struct query *query, struct error *err);
int cmd_summary_run(struct query *query, struct error *err);
int cmd_mmaps_run(struct query *query, struct error *err);
extern const char cmd_range_source[]; /* of the TEMP table that cmd_range_install makes */
int cmd_range_install(struct query *query, struct error *err);
int cmd_report_install(struct query *query, struct error *err);
int cmd_report_run(struct query *query, struct error *err);
int cmd_stack_run(struct query *query, struct error *err);
int cmd_sql_run(struct query *query, struct error *err);
int cmd_views_run(struct query *query, struct error *err);
int cmd_allocations_run(struct query *query, struct error *err);
int cmd_block_run(struct query *query, struct error *err);
int cmd_tree_run(struct query *query, struct error *err);
int cmd_objects_run(struct query *query, struct error *err);
int cmd_flamegraph_run(struct query *query, struct error *err);
int cmd_callers_run(struct query *query, struct error *err);
int cmd_callees_run(struct query *query, struct error *err);
int cmd_diff_run(struct query *query, struct error *err);
int cmd_timeline_install(struct query *query, struct error *err);
int cmd_histogram_run(struct query *query, struct error *err);
int cmd_growth_run(struct query *query, struct error *err);
int cmd_timeline_run(struct query *query, struct error *err);
int cmd_lines_run(struct query *query, struct error *err);
int cmd_images_run(struct query *query, struct error *err); /* lost and held */
int cmd_why_run(struct query *query, struct error *err);
int cmd_describe_run(struct query *query, struct error *err);

#endif
