/* SPDX-License-Identifier: MIT */
/*
 * collector_options: the options that say what is recorded, how stacks are captured, and what the
 * collector prints.
 *
 * Each setting for the collector becomes a line "NAME=value" in options->settings.
 */
#ifndef MTRACE_RECORDER_COLLECTOR_OPTIONS_H
#define MTRACE_RECORDER_COLLECTOR_OPTIONS_H

#include <argp.h>

/* Its input is a struct options. */
extern const struct argp collector_options;

/* Adds the lines that depend on several options. Call after parsing. */
void collector_options_add_settings(struct argp_state *state);

#endif
