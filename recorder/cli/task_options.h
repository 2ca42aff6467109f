/* SPDX-License-Identifier: MIT */
/*
 * task_options: what mtrace-record does: run a program, work on a running one (--attach, --detach,
 * --ctl), or one of the tasks without a program.
 */
#ifndef MTRACE_RECORDER_TASK_OPTIONS_H
#define MTRACE_RECORDER_TASK_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

/* Its input is a struct options. */
extern const struct argp task_options;

/* Checks that there is one task with what it needs; call after parsing. False: the task creates and
 * keeps no log (--ctl, --detach). */
bool task_options_check(struct argp_state *state);

#endif
