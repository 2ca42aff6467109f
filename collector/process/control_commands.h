/* SPDX-License-Identifier: MIT */
/*
 * control: windows begin and end, by whom it may be, and what the recorder orders is done.
 *
 * Model:   a window is a time in which allocations are recorded; frees of blocks that were born in one are recorded at all times. Each
 *          begins and ends with LOG_TRACING in the log. An order (log/collector_commands.h) is obeyed by the first thread whose event finds it.
 * Invariants
 *   CT-1 An order is obeyed once, and by one thread at a time, which signals do not interrupt until it is done. Nobody waits for it: what others come
 *        for meanwhile it does itself, as it looks again once it is done. n_obeyed only grows.
 *   CT-2 Nothing waits for an order: a program that has no events obeys with its next one, or before it makes a child or executes.
 *   CT-3 Who switches leaves in is_open of the log and in MTRACE_PARENT what the state is then, whoever switches meanwhile.
 *   CT-4 Of what is wanted when it looks the process does what it has not done yet: what was replaced before is never done.
 *   CT-5 Who is to be left (LOG_ORDER_LEAVE) writes nothing more: neither this process nor what begins from it. A child that shares
 *        our memory obeys nothing for us: it may be killed alone, in the midst of it. We do with our next event.
 *   CT-6 Who was switched off by its recorder, which is gone, leaves itself, as nobody can switch it on and nobody reads which blocks end: when a thread has
 *        filled a segment with that, and another two seconds later. Who has a signal for it, or ever called mtrace_tracking, may switch itself on: it
 *        writes on, also which blocks end; and so does whose recorder is of another pid namespace (PS-1), and may be stopped.
 * Threads: any. Signals: safe. Failure: without room for the event, which is counted, the window begins or ends nonetheless.
 */
#ifndef MTRACE_COLLECTOR_CONTROL_COMMANDS_H
#define MTRACE_COLLECTOR_CONTROL_COMMANDS_H

#include "lib/abi/log_format.h"

#include <stdbool.h>

/* In a process that records. */
void control_commands_switch(bool is_on, enum log_switch reason);

/* Once there is a log, before this process records. */
void control_commands_begin(bool is_on);

/* Once it does: the recorder may nudge us. One that came before would be taken for a parent's, or find no run_id yet, and none comes again. */
void control_commands_receive(void);

/* If an order is due. */
void control_commands_handle(void);

/* The same where nobody was nudged: before a child begins as this process is. */
void control_commands_handle_early(void);

#endif
