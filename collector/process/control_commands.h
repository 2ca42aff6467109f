/* SPDX-License-Identifier: MIT */
/*
 * control_commands: begins and ends windows, and executes the commands of the recorder.
 *
 * A window is a time in which allocations are recorded. Frees of blocks that were allocated in one
 * are recorded at all times. A LOG_TRACING event marks each begin and end. A command
 * (segment_commands_get) is executed by the first thread that finds it during an event.
 *
 * Invariants
 *   CT-1 A command is executed once, by one thread at a time, with signals blocked. No thread waits
 *        for that: the executing thread looks again when it is done, for commands that others
 *        found. n_handled only grows.
 *   CT-2 Nothing waits for a command. One event of a thread finds it, the next event of any thread
 *        executes it. Without events it is executed before the program forks or execs.
 *   CT-3 After concurrent switches, is_open of the log and MTRACE_PARENT contain the final state.
 *   CT-4 The process executes the command that is wanted when it looks. A command that was replaced
 *        before is never executed.
 *   CT-5 After LOG_COMMAND_DETACH this process and its later children write nothing more. A vfork
 *        child executes no command for its parent, because it may be killed alone in the middle.
 *        The parent does so with its next event.
 *
 * Threads: any. Async-signal-safe. Without space for its event, which is counted, a window begins
 * or ends nevertheless.
 */
#ifndef MTRACE_COLLECTOR_CONTROL_COMMANDS_H
#define MTRACE_COLLECTOR_CONTROL_COMMANDS_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

/* Only in a process that records. */
void control_commands_switch(bool is_on, enum log_switch reason);

/* After the log exists, and before the process records. */
void control_commands_begin(bool is_on);

/* Executes the pending command, if there is one. */
void control_commands_handle(void);

/* The same without a wakeup flag: before a child is created, which begins in the state of this
 * process. */
void control_commands_handle_early(void);

#endif
