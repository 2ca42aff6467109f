/* SPDX-License-Identifier: MIT */
/*
 * definitions_build: the definitions of all logs of a set merged under the ids of the database.
 *
 * Model:   the logs come sorted by the start of their processes; log i is process i + 1. Their
 *          clocks are finished. Fills the ids into each log's names.
 * Threads: one at a time.
 * Failure: ERROR_NOMEM; the definitions must be done in any case.
 */
#ifndef MTRACE_IMPORTER_DEFINITIONS_BUILD_H
#define MTRACE_IMPORTER_DEFINITIONS_BUILD_H

#include "importer/log/log_input.h"
#include "importer/model/definitions.h"

/* origin_ns: CLOCK_MONOTONIC at time 0. Texts stay in the arena. */
int definitions_build(struct log_input *const *inputs, size_t n_inputs, uint64_t origin_ns,
                      struct log_damage_report *damage, struct definitions *ret);

void definitions_build_done(struct definitions *definitions);

#endif
