/* SPDX-License-Identifier: MIT */
/*
 * attaching: a running process calls a function of ours.
 *
 * Model:   one thread of it is stopped (PTRACE_SEIZE), where it is at a safe place (safe_point.h): else it goes on, and another one, or the same
 *          a little later, is tried. It is led to instructions of ours (call_stub.h), which load the library and call the function, and bring it back.
 *          They are put where ld.so has code that ran once; what was there is put back.
 * Invariants
 *   AT-1 No thread but the one is stopped for longer than it takes to walk its stack.
 *   AT-2 Whatever happens to us, the thread comes back to where it was (EC-1).
 *   AT-3 When an answer is given nothing is traced any more, not even a thread that could not be stopped: one of ours, which ends, traces them.
 *   AT-4 One mtrace-record at a time is at a process. Where the code of ld.so is neither ld.so's nor ours nothing is put there.
 *   AT-5 What a killed mtrace-record left of its code in ld.so the next one takes away, unless a thread is in it, or may be.
 * Threads: the one that calls; signals that may interrupt it are blocked. Failure: one line; the process is as it was.
 */
#ifndef MTRACE_RECORDER_ATTACHING_H
#define MTRACE_RECORDER_ATTACHING_H

#include "lib/base/error.h"
#include "recorder/attach/attaching_call.h"

#include <stdbool.h>
#include <sys/types.h>

int attaching_run(const struct attaching_call *call, struct attaching_answer *ret_answer,
                  struct error *err);

/* No thread of the process executes this library, or will return into it: each is stopped for a moment. False: one does, or it is not known. */
bool attaching_is_left(pid_t pid, const char *library);

#endif
