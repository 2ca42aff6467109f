/* SPDX-License-Identifier: MIT */
/*
 * definitions_build: merges the definitions of all logs of a set under the ids of the database.
 *
 * The logs are sorted by the start of their processes; log i is process i + 1. Their clocks are
 * finished. The ids are also stored in the names of each log.
 * Threads: one at a time.
 * Errors: ERROR_NOMEM. Call definitions_build_done also after a failure.
 */
#ifndef MTRACE_IMPORTER_DEFINITIONS_BUILD_H
#define MTRACE_IMPORTER_DEFINITIONS_BUILD_H

#include "importer/log/log_input.h"
#include "importer/model/definitions.h"

/* origin_ns: CLOCK_MONOTONIC at time 0. Strings stay in the arena of the set. */
int definitions_build(struct log_input *const *inputs, size_t n_inputs, uint64_t origin_ns,
                      struct log_damage_report *damage, struct definitions *ret);

void definitions_build_done(struct definitions *definitions);

#endif
