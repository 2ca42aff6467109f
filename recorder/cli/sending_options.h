/* SPDX-License-Identifier: MIT */
/*
 * sending_options: the options that send a log to another machine, while it grows or afterwards.
 *
 * Model: most are words of mtrace-send and are handed on to it as they are.
 */
#ifndef MTRACE_RECORDER_SENDING_OPTIONS_H
#define MTRACE_RECORDER_SENDING_OPTIONS_H

#include <argp.h>

/* Its input is a struct options. */
extern const struct argp sending_options;

/* Whether --no-local and --max-local go with the rest; when all are parsed. It bounds the live log, too. */
void sending_options_check(struct argp_state *state);

#endif
