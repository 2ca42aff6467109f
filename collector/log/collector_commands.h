/* SPDX-License-Identifier: MIT */
/*
 * orders: what the recorder wants of this process (struct log_control of log_format.h).
 *
 * Model:   the last one that is wanted, and one name of a snapshot at a time, in the header page of the log. Any event may find that one is due; life/control_commands.h obeys.
 * Threads: any. Signals: safe. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_COLLECTOR_COMMANDS_H
#define MTRACE_COLLECTOR_COLLECTOR_COMMANDS_H

#include "collector/log/segment.h"
#include "lib/abi/log_format.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Of this process' log, which is there. */
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
