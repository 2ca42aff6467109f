/* SPDX-License-Identifier: MIT */
/*
 * collector_options: the options that say what is recorded, how stacks are taken, and what the
 * collector tells of itself.
 *
 * Model: what the collector has to know becomes a line "NAME=value" of options->settings.
 */
#ifndef MTRACE_RECORDER_COLLECTOR_OPTIONS_H
#define MTRACE_RECORDER_COLLECTOR_OPTIONS_H

#include <argp.h>

/* Its input is a struct options. */
extern const struct argp collector_options;

/* The lines that depend on more than one option; when all are parsed. */
void collector_options_add_settings(struct argp_state *state);

#endif
