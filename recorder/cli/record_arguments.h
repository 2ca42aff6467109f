/* SPDX-License-Identifier: MIT */
/*
 * record_arguments: parses the command line of mtrace-record and its environment variables.
 *
 * There are four parts: the options of the collector (collector_options.h), and here the options
 * that send a log to another machine, most of which are passed to mtrace-send unchanged, those that
 * say what to do (run a program, work on a running one, or a task without a program), and those of
 * the log itself. Conditions across parts are checked after parsing.
 */
#ifndef MTRACE_RECORDER_RECORD_ARGUMENTS_H
#define MTRACE_RECORDER_RECORD_ARGUMENTS_H

#include "recorder/session/options.h"

/* Exits for --help, --version, --usage and wrong usage. */
void record_arguments_parse(int argc, char **argv, struct options *ret_options);

#endif
