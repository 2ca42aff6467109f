/* SPDX-License-Identifier: MIT */
/*
 * log_generations: opens the rotated logs (events) of a bounded log.
 *
 * Threads: as in log_input.h.
 */
#ifndef MTRACE_IMPORTER_LOG_GENERATIONS_H
#define MTRACE_IMPORTER_LOG_GENERATIONS_H

#include "importer/log/log_input_parts.h"

/* Transfers ownership to the input. ERROR_NOMEM or 0. */
int log_generations_add_file(struct log_input *input, struct log_file_reader *file);

/* Adds rotated log `number` after all files, if it belongs to the log. If it is removed
 * concurrently, the checkpoint that is read afterwards contains it (RI-1). A file whose header is
 * not written yet is empty. */
int log_generations_open(struct log_input *input, uint32_t number, struct text_arena *arena,
                         bool *ret_is_ours, struct error *err);

/* Closes the descriptor of a file if too many are open: without a follower a log has thousands of
 * rotated logs, more than a process may have descriptors. */
void log_generations_rest(const struct log_input *input, size_t index);

#endif
