/* SPDX-License-Identifier: MIT */
/*
 * attaching: makes a running process call a function of the collector.
 *
 * One thread is stopped (PTRACE_SEIZE) at a safe point (safe_point.h); if it is not at one, it
 * continues, and another thread, or the same one later, is tried. The thread is redirected to our
 * instructions (call_stub.h), which load the library, call the function and return to where the
 * thread was. They are written over code of ld.so that ran once; the original bytes are restored
 * afterwards.
 *
 * Invariants
 *   AT-1 Other threads are stopped only as long as it takes to walk their stack.
 *   AT-2 Whatever happens to the recorder, the thread returns to where it was (EC-1).
 *   AT-3 When an answer is returned, no thread is traced, not even one that could not be stopped:
 *        the tracing thread is ours and ends.
 *   AT-4 One mtrace-record at a time works on a process; nothing is written if the code of ld.so is
 *        neither original nor ours.
 *   AT-5 Code that a killed mtrace-record left in ld.so is removed by the next one, unless a thread
 *        may be executing it.
 *
 * Threads: the caller, with signals that may interrupt it blocked. Errors: one line; the process is
 * as it was.
 */
#ifndef MTRACE_RECORDER_ATTACHING_H
#define MTRACE_RECORDER_ATTACHING_H

#include "lib/base/error.h"
#include "recorder/attach/attaching_call.h"

#include <stdbool.h>
#include <sys/types.h>

int attaching_run(const struct attaching_call *call, struct remote_call_result *ret_answer,
                  struct error *err);

/* No thread of the process executes this library or will return into it; each is stopped for a
 * moment. False: one does, or it is unknown. */
bool attaching_is_left(pid_t pid, const char *library);

#endif
