/* SPDX-License-Identifier: MIT */
/*
 * leading: a stopped thread is led to instructions of ours (call_stub.h), which load the library and call the function, and back.
 *
 * Model:   the instructions are put where ld.so has code that ran once; what was there is put back. The thread comes back by itself (EC-1), whatever
 *          happens to us; while we are there it does so without having noticed.
 * Threads: the one that traces. Failure: one line; the thread goes on where it was, or will.
 */
#ifndef MTRACE_RECORDER_REMOTE_CALL_H
#define MTRACE_RECORDER_REMOTE_CALL_H

#include "lib/base/error.h"
#include "recorder/attach/attaching_call.h"
#include "recorder/attach/tracee.h"

#include <stdbool.h>

#if defined(__x86_64__)

/* For how long the call may take. */
#    define REMOTE_CALL_CALL_NS 10000000000u

/* Of a thread at a safe place, which is let go. 1: a signal came before, and nothing was done. */
int remote_call_call(struct tracee *tracee, const struct attaching_call *call,
                     struct attaching_answer *ret_answer, struct error *err);

/* Has ld.so our code, or a part of it, though nobody else is at the process? */
bool remote_call_has_remains(const struct tracee *tracee);

/* Of a stopped thread whose registers are in tracee->regs: it is not on its way through our code. */
bool remote_call_is_outside(const struct tracee *tracee);

/* Once no thread is. */
void remote_call_clear_remains(const struct tracee *tracee);

#endif

#endif
