/* SPDX-License-Identifier: MIT */
/*
 * collector_commands: commands of the recorder for this process.
 *
 * The header page of the log (struct log_control of log_format.h) holds the last command, and one
 * marker name at a time. Any event may find a pending command; process/control_commands.h executes
 * it.
 *
 * Threads: any. Async-signal-safe. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_COLLECTOR_COMMANDS_H
#define MTRACE_COLLECTOR_COLLECTOR_COMMANDS_H

#include "collector/log/segment.h"
#include "lib/abi/log_format.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The process must have a log. */
static inline struct log_control *collector_commands_get(void)
{
    return log_control_of(segment_log());
}

static inline bool collector_commands_are_due(void)
{
    const struct log_control *control = collector_commands_get();

    return atomic_load_explicit(&control->n_given, memory_order_acquire)
           != atomic_load_explicit(&control->n_obeyed, memory_order_relaxed);
}

#endif
