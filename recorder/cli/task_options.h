/* SPDX-License-Identifier: MIT */
/*
 * task_options: what mtrace-record does: to run a program, or, with --attach, --detach and --ctl, what concerns one that
 * runs, or one of the tasks without a program.
 */
#ifndef MTRACE_RECORDER_TASK_OPTIONS_H
#define MTRACE_RECORDER_TASK_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

/* Its input is a struct options. */
extern const struct argp task_options;

/* That there is one task and what it needs; when all are parsed. Whether it makes or keeps a log: not so are --ctl and --detach. */
bool task_options_check(struct argp_state *state);

#endif
