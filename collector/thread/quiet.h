/* SPDX-License-Identifier: MIT */
/*
 * quiet: signals-blocked sections, for writing to the log without the recursion guard (thread.h).
 *
 * A fork child does not inherit the log. If a signal handler forks while an event is being recorded, the
 * guard shows this and the child gets memory in place of the log. Code outside the guard would find
 * nothing when the handler returns in the child, so it blocks signals.
 *
 * QU-1 From a successful quiet_begin to quiet_end the process has its own log, and no signal handler runs
 *      in this thread. Behind a seccomp filter signals cannot be blocked.
 *
 * Any thread, also inside the guard. Async-signal-safe; sections nest.
 */
#ifndef MTRACE_COLLECTOR_QUIET_H
#define MTRACE_COLLECTOR_QUIET_H

#include "collector/os/config.h"
#include "collector/os/sys.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"

#include <stdbool.h>

struct quiet {
    struct sys_signals mask;
    bool is_blocked;
};

/* False: this process does not record; do not call quiet_end. A fork child may start its own log here. */
MTRACE_NODISCARD bool quiet_begin(struct quiet *ret_quiet);
void quiet_end(const struct quiet *quiet);

/* Blocks signals also if there is no log; always call quiet_end. True: there is a log. */
bool quiet_begin_always(struct quiet *ret_quiet);

/* Counts a dropped event. */
void quiet_count_drop(enum log_drop reason);

/* Writes a line of diagnostics (message.h). */
void quiet_message(enum config_level level, const char *text);

#endif
