/* SPDX-License-Identifier: MIT */
/*
 * quiet: what is done to the log outside of the gate of a thread (thread.h), with signals blocked.
 *
 * Model:   the log is in no fork child. A handler that forks while a recording is under way is told so by the gate, and gives the child
 *          something in the log's place; of one that interrupts us anywhere else nobody knows, and the child that returns from it
 *          would find nothing. So no handler runs between two questions whether there is a log.
 * Invariants
 *   QU-1 From quiet_begin, which returned true, to quiet_end the log that the process has is its own, and no handler of this
 *        thread comes in between: none forks, and none leaves by siglongjmp what is half done. (Not so behind a seccomp
 *        filter, where signals cannot be blocked.)
 * Threads: any, also inside of a recording. Signals: safe, also nested. Failure: false.
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

/* False: this process does not record, and quiet_end is not due. A fork child may begin its own log here. */
MTRACE_NODISCARD bool quiet_begin(struct quiet *ret_quiet);
void quiet_end(const struct quiet *quiet);

/* The same for what is done whether there is a log or not: quiet_end is due in any case. */
bool quiet_begin_always(struct quiet *ret_quiet);

/* An event that is in no segment. */
void quiet_count_drop(enum log_drop reason);

/* A line of message.h. */
void quiet_message(enum config_level level, const char *text);

#endif
