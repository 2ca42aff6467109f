/* SPDX-License-Identifier: MIT */
/*
 * interpose_bytehound: functions of bytehound's API, for programs that declare them.
 */
#include "collector/os/fmt.h"
#include "collector/thread/quiet.h"
#include "include/mtrace.h"
#include "lib/abi/attr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern const struct mtrace_api mtrace_api_2;

void memory_profiler_start(void);
void memory_profiler_stop(void);
void memory_profiler_sync(void);
void memory_profiler_set_marker(uint32_t value);
void memory_profiler_override_next_timestamp(uint64_t timestamp_us);

MTRACE_EXPORT void memory_profiler_start(void)
{
    mtrace_api_2.tracking(true);
}

MTRACE_EXPORT void memory_profiler_stop(void)
{
    mtrace_api_2.tracking(false);
}

/* Nothing to wait for: an event is in the log when its call returns. */
MTRACE_EXPORT void memory_profiler_sync(void)
{
}

MTRACE_EXPORT void memory_profiler_set_marker(uint32_t value)
{
    char text[16];
    struct fmt name = FMT_BUFFER(text);

    fmt_decimal(&name, value);
    mtrace_api_2.marker(text);
}

/* Not supported: times come from the clock only, since they order the threads and never decrease in
 * one. */
MTRACE_EXPORT void memory_profiler_override_next_timestamp(uint64_t timestamp_us)
{
    static _Atomic bool is_reported;

    (void)timestamp_us;
    if (!atomic_exchange_explicit(&is_reported, true, memory_order_relaxed))
        quiet_message(
            CONFIG_LEVEL_WARN,
            "memory_profiler_override_next_timestamp is not followed: times are the clock's");
}
