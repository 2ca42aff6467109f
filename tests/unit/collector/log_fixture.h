/* SPDX-License-Identifier: MIT */
/* log_fixture: an empty log of n segments in a temporary file, attached to segment.h. */
#ifndef MTRACE_TESTS_UNIT_COLLECTOR_LOG_FIXTURE_H
#define MTRACE_TESTS_UNIT_COLLECTOR_LOG_FIXTURE_H

#include "collector/log/segment.h"
#include "lib/abi/log_format.h"

#include <stdint.h>

enum {
    LOG_FIXTURE_RUN_ID = 4711
};

struct log_fixture {
    char path[64];
    struct log_header *file;
    struct segment_file where;
};

/* A log of n_segments, all on the free stack, that may grow to max_bytes. */
void log_fixture_open(struct log_fixture *fixture, uint32_t n_segments, uint64_t max_bytes);
void log_fixture_close(struct log_fixture *fixture);

#endif
