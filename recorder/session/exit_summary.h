/* SPDX-License-Identifier: MIT */
/*
 * exit_summary: the messages of mtrace-record on stderr: warnings, and the summary at the end.
 */
#ifndef MTRACE_RECORDER_EXIT_SUMMARY_H
#define MTRACE_RECORDER_EXIT_SUMMARY_H

#include "lib/abi/attr.h"
#include "lib/base/error.h"
#include "recorder/pack/process_tree.h"
#include "recorder/session/recording.h"

#include <stdbool.h>
#include <stdint.h>

struct exit_summary {
    const char *name;    /* of the log, as the user wrote it */
    const char *program; /* path of what ran */
    struct recording_totals totals;
    struct recording_totals children;
    uint32_t n_children; /* logs */
    uint32_t n_unpacked; /* logs of children and exec successors that stay raw */
    struct error unpacked_err;
    char reports[256]; /* periodic_reports_describe */
    struct process_tree *process_tree;
    const char *earlier_children; /* attachment.children; NULL or "": none */
    bool is_eliding;              /* --cull-temporary or --aggregate was given */
    bool is_bounded;              /* --aggregate */
    bool was_disk_full;           /* as in rotated_log_run, or when a log was packed */
    bool follows_children;
    bool starts_by_itself; /* --start-after, --start-at-rss */
    bool was_left;         /* detached: running processes of process_tree, too (detach_followed) */
    bool is_quiet;
    bool is_log_deleted;     /* the log was deleted by another process */
    bool is_elsewhere;       /* --no-local: nothing is done with it here */
    bool is_beginning_given; /* its beginning was deleted after sending, and the rest will be */
};

/* Prints "mtrace-record: …". */
void exit_summary_warn(const char *format, ...) MTRACE_PRINTF(1, 2);

/* The same, unless quiet. */
void exit_summary_print(bool is_quiet, const char *format, ...) MTRACE_PRINTF(2, 3);

/* File, size, events, dropped events, and the next command to type. */
void exit_summary_sum_up(const struct exit_summary *exit_summary);

/* Says that nothing was recorded, and why. */
void exit_summary_explain(const struct exit_summary *exit_summary);

/* Imports the log and prints its summary on stdout. */
void exit_summary_report(const char *path);

#endif
