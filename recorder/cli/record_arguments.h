/* SPDX-License-Identifier: MIT */
/*
 * record_arguments: parses the command line of mtrace-record and its environment variables.
 *
 * There are four parts: collector_options, sending_options, task_options, and the options of the
 * log itself here. Conditions across parts are checked after parsing.
 */
#ifndef MTRACE_RECORDER_RECORD_ARGUMENTS_H
#define MTRACE_RECORDER_RECORD_ARGUMENTS_H

#include "recorder/session/options.h"

/* Exits for --help, --version, --usage and wrong usage. */
void record_arguments_parse(int argc, char **argv, struct options *ret_options);

#endif
