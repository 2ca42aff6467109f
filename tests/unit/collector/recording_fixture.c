/* SPDX-License-Identifier: MIT */
#include "tests/unit/collector/recording_fixture.h"

#include "collector/events/capture.h"
#include "collector/events/record.h"
#include "collector/log/modules.h"
#include "collector/os/clock.h"
#include "collector/thread/state.h"

static bool never_begin(void)
{
    return false;
}

bool recording_fixture_begin(struct log_fixture *log, uint32_t n_segments,
                             const struct config *config)
{
    log_fixture_open(log, n_segments,
                     LOG_FILE_HEADER_BYTES + (uint64_t)n_segments * LOG_SEGMENT_BYTES);
    if (!state_init(&(const struct state_hooks){.begin_in_child = never_begin})
        || !state_start(STATE_UNSTARTED))
        return false;
    clock_init(true);
    modules_init();
    capture_init(config);
    record_init();
    state_set_tracing(true);
    state_record(true);
    return true;
}
