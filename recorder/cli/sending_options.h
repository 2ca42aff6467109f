/* SPDX-License-Identifier: MIT */
/*
 * sending_options: the options that send a log to another machine, while it grows or afterwards.
 *
 * Most of them are passed to mtrace-send unchanged.
 */
#ifndef MTRACE_RECORDER_SENDING_OPTIONS_H
#define MTRACE_RECORDER_SENDING_OPTIONS_H

#include <argp.h>

/* Its input is a struct options. */
extern const struct argp sending_options;

/* Checks --no-local and --max-local against the other options, and limits the live log. Call after
 * parsing. */
void sending_options_check(struct argp_state *state);

#endif
