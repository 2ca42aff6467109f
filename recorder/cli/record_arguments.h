/* SPDX-License-Identifier: MIT */
/*
 * record_arguments: the command line of mtrace-record is parsed, and the environment variables behind it are read.
 *
 * Model: four parts, by idea: collector_options, sending_options, task_options, and here the log itself. What concerns
 *        more than one part is checked when all are parsed.
 */
#ifndef MTRACE_RECORDER_RECORD_ARGUMENTS_H
#define MTRACE_RECORDER_RECORD_ARGUMENTS_H

#include "recorder/session/options.h"

/* Parses; ends the process for --help, --version, --usage and wrong usage. */
void record_arguments_parse(int argc, char **argv, struct options *ret_options);

#endif
