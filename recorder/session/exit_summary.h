/* SPDX-License-Identifier: MIT */
/*
 * closing: what mtrace-record says on stderr: warnings, and the line at the end.
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
    uint32_t n_unpacked; /* of children and what was executed: logs that stay raw */
    struct error unpacked_err;
    char reports[256]; /* periodic_reports_describe */
    struct process_tree *family;
    bool is_culling;    /* --cull-temporary or --aggregate was given */
    bool is_bounded;    /* --aggregate */
    bool was_disk_full; /* rotated_log_run, or a log could not be packed for want of room */
    bool follows_children;
    bool starts_by_itself; /* --start-after, --start-at-rss */
    bool was_left; /* those of family that still run are to record no more (leave_followed) */
    bool is_quiet;
    bool is_gone;            /* somebody took the log away */
    bool is_elsewhere;       /* --no-local: nothing is done with it here */
    bool is_beginning_given; /* back: it is only where it was sent to, and so goes the rest */
};

/* "mtrace-record: …", always. */
void exit_summary_warn(const char *format, ...) MTRACE_PRINTF(1, 2);

/* The same, unless quiet. */
void exit_summary_print(bool is_quiet, const char *format, ...) MTRACE_PRINTF(2, 3);

/* File, size, events, dropped, and what to type next. */
void exit_summary_sum_up(const struct exit_summary *exit_summary);

/* Nothing was recorded, and why. */
void exit_summary_explain(const struct exit_summary *exit_summary);

/* Imports the log and prints its summary on stdout. */
void exit_summary_report(const char *path);

#endif
