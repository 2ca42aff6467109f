/* SPDX-License-Identifier: MIT */
/*
 * log_set_members: finds the logs that belong to a set.
 *
 * Logs of children and of images after an exec are found by LOG_DEF_CHILD in their parents' logs,
 * beside the parent's log, or by file name and header. If the log of a child must exist and is
 * missing, this is damage of the set.
 * Threads: as in log_set.h.
 */
#ifndef MTRACE_IMPORTER_LOG_SET_MEMBERS_H
#define MTRACE_IMPORTER_LOG_SET_MEMBERS_H

#include "importer/read/log_set_parts.h"
#include "lib/base/error.h"

/* Adds a log and takes ownership. If its run is in the set already (LS-1), or without memory
 * (ERROR_NOMEM), the log is closed. */
int log_set_add_input(struct log_set *set, struct log_input *input, struct error *err);

/* Adds the logs of these paths and, unless `only`, all that belong to them. Returns 0 or the error
 * of log_input_open. */
int log_set_find_members(struct log_set *set, const char *const *paths, size_t n_paths, bool only,
                         struct error *err);

#endif
