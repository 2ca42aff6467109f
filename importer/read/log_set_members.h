/* SPDX-License-Identifier: MIT */
/*
 * log_set_members: which logs belong to a set. The children and images after an exec of what was named are found by what their parents' logs say of them
 * (LOG_DEF_CHILD), beside the parent's log, or by their file's name and header; a child's log that must be there and is not is damage of the set.
 *
 * Threads: as log_set.h says.
 */
#ifndef MTRACE_IMPORTER_LOG_SET_MEMBERS_H
#define MTRACE_IMPORTER_LOG_SET_MEMBERS_H

#include "importer/read/log_set_parts.h"
#include "lib/base/error.h"

/* Adds a log, which is the set's from then on, unless its run is in the set (LS-1): then it is closed. Closed, too, where there is no memory: ERROR_NOMEM. */
int log_set_add_input(struct log_set *set, struct log_input *input, struct error *err);

/* Adds the logs of these paths and, unless `only` those, all that belong to them. Returns 0, or what log_input_open says of a path. */
int log_set_find_members(struct log_set *set, const char *const *paths, size_t n_paths, bool only,
                         struct error *err);

#endif
