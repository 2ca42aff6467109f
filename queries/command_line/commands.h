/* SPDX-License-Identifier: MIT */
/*
 * commands: the one table of what mtrace-query can be asked.
 *
 * Model: parsing, help, completion and the test that walks it all read commands[]. A report is a
 *        command with a view and cmd_report_run; what needs more has a file cmd_<name>.c with a
 *        function of its own.
 */
#ifndef MTRACE_QUERIES_COMMANDS_H
#define MTRACE_QUERIES_COMMANDS_H

#include <stdbool.h>

struct error;
struct query;

/* Which filters a command can answer for. */
enum command_filters {
    COMMAND_FILTERS_NONE,
    COMMAND_FILTERS_STACKS, /* of stacks and groups: it reads totals by stack */
    COMMAND_FILTERS_ALL,    /* its totals can be made anew from rows */
    COMMAND_FILTERS_ROWS,   /* it reads rows itself */
};

struct command {
    const char *name;
    const char *view;   /* the view or table it prints; NULL: none */
    const char *source; /* "(SELECT …)" that is shown in place of the view; NULL: the view itself */
    const char *columns;   /* of the view that a narrow table shows; NULL: all */
    const char *argument;  /* "ID", "NAME", … in help; NULL: takes none */
    const char *help;      /* one line */
    const char *next;      /* printed below a table: the command one level deeper; NULL: none */
    const char *next_tail; /* what follows the file's name there */
    int (*run)(struct query *query, struct error *err);
    bool needs_database;
    bool needs_rows; /* of allocations, whatever is asked: a slim import has none */
    bool is_argument_optional;
    bool has_headline; /* its screen says itself what of the log was lost */
    bool has_measure;  /* takes --measure and --by */
    bool has_tree;     /* takes --bottom-up and --min-share */
    bool has_instant;  /* about heaps: takes --at, once, whatever `filters` says */
    enum command_filters filters;
};

extern const struct command commands[]; /* ends with name NULL */

const struct command *commands_find(const char *name);

/* All names in one line, for messages. */
const char *commands_list(char *ret_text, unsigned long size);

/* The same from another source than the command's view: a view or a "(SELECT …)". */
int cmd_report_show(struct query *query, const char *source, struct error *err);

/* The same from rows that were computed: source reads json_each(:made_rows). */
int cmd_report_show_made(struct query *query, const char *source, const char *made_rows,
                         struct error *err);

int cmd_report_run(struct query *query, struct error *err);
int cmd_holes_run(struct query *query, struct error *err);
int cmd_heap_map_run(struct query *query, struct error *err);
int cmd_groups_run(struct query *query, struct error *err);
int cmd_leaks_run(struct query *query, struct error *err);
int cmd_summary_run(struct query *query, struct error *err);
int cmd_stack_run(struct query *query, struct error *err);
int cmd_sql_run(struct query *query, struct error *err);
int cmd_views_run(struct query *query, struct error *err);
int cmd_allocations_run(struct query *query, struct error *err);
int cmd_block_run(struct query *query, struct error *err);
int cmd_live_run(struct query *query, struct error *err);
int cmd_tree_run(struct query *query, struct error *err);
int cmd_flamegraph_run(struct query *query, struct error *err);
int cmd_callers_run(struct query *query, struct error *err);
int cmd_callees_run(struct query *query, struct error *err);
int cmd_diff_run(struct query *query, struct error *err);
int cmd_timeline_run(struct query *query, struct error *err);
int cmd_lines_run(struct query *query, struct error *err);
int cmd_export_run(struct query *query, struct error *err);
int cmd_describe_run(struct query *query, struct error *err);

#endif
