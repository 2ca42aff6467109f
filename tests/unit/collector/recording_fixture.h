/* SPDX-License-Identifier: MIT */
/* recording_fixture: a process that records into a log_fixture, without the library's wrappers:
 * every event of it is one of the test. */
#ifndef MTRACE_TESTS_UNIT_COLLECTOR_RECORDING_FIXTURE_H
#define MTRACE_TESTS_UNIT_COLLECTOR_RECORDING_FIXTURE_H

#include "collector/os/config.h"
#include "tests/unit/collector/log_fixture.h"

#include <stdbool.h>

/* Begins with n_segments. Call it once in a process. Returns false if it cannot record. */
bool recording_fixture_begin(struct log_fixture *log, uint32_t n_segments,
                             const struct config *config);

#endif
