/* SPDX-License-Identifier: MIT */
#include "collector/life/presence.h"

#include "collector/log/segment.h"
#include "collector/platform/config.h"
#include "collector/platform/sys.h"
#include "collector/record/state.h"

#include <stdatomic.h>

/* Who has not found this log yet, or has let it go, has the pid that we were told. */
static uint32_t pid_of_recorder(struct log_file *log)
{
    uint32_t pid = atomic_load_explicit(&log->recorder_pid, memory_order_relaxed);

    return pid ? pid : state_config()->recorder_pid;
}

enum presence presence_look(uint32_t *beat)
{
    struct log_file *log = segment_log();
    uint32_t last = *beat;

    *beat = atomic_load_explicit(&log_question_of(log)->beat, memory_order_relaxed);
    if (*beat != last)
        return PRESENCE_BEATS;
    return sys_process_exists((long)pid_of_recorder(log)) == 0 ? PRESENCE_STILL : PRESENCE_NOBODY;
}
