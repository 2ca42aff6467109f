/* SPDX-License-Identifier: MIT */
/*
 * log_generations: the files of events of a bounded log, as they are opened.
 *
 * Threads: as log_input.h says.
 */
#ifndef MTRACE_IMPORTER_LOG_GENERATIONS_H
#define MTRACE_IMPORTER_LOG_GENERATIONS_H

#include "importer/log/log_input_parts.h"

/* Owned by the input from then on. ERROR_NOMEM or 0. */
int log_generations_add_file(struct log_input *input, struct log_file_reader *file);

/* Adds that generation behind all files, if it is one of the log. One that is removed meanwhile is in the state that is read afterwards (RI-1); one
 * whose header is not written yet is empty. */
int log_generations_open(struct log_input *input, uint32_t number, struct text_arena *arena,
                         bool *ret_is_ours, struct error *err);

/* Where nobody keeps up with a log it has thousands of generations, and a process has fewer descriptors. */
void log_generations_rest(const struct log_input *input, size_t index);

#endif
