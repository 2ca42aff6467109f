/* SPDX-License-Identifier: MIT */
/*
 * remote_call: redirects a stopped thread to the call stub (call_stub.h), which loads the library
 * and calls the function, and back.
 *
 * The stub is written over code of ld.so that ran once; the original bytes are restored. The thread
 * returns by itself (EC-1) whatever happens to the recorder, and does not notice anything.
 *
 * Threads: the tracing thread. Errors: one line; the thread is, or will be, where it was.
 */
#ifndef MTRACE_RECORDER_REMOTE_CALL_H
#define MTRACE_RECORDER_REMOTE_CALL_H

#include "lib/base/error.h"
#include "recorder/attach/attaching_call.h"
#include "recorder/attach/tracee.h"

#include <stdbool.h>

#if defined(__x86_64__)

/* Time limit of the call. */
#    define REMOTE_CALL_CALL_NS 10000000000u

/* The thread must be at a safe point; it is released. 1: a signal came first, and nothing was
 * done. */
int remote_call_run(struct tracee *tracee, const struct attaching_call *call,
                    struct remote_call_result *ret_answer, struct error *err);

/* ld.so has our code or a part of it, although no other recorder works on the process. */
bool remote_call_has_remains(const struct tracee *tracee);

/* For a stopped thread with its registers in tracee->regs: it is not executing our code. */
bool remote_call_is_outside(const struct tracee *tracee);

/* Restores ld.so. Call when no thread is in our code. */
void remote_call_clear_remains(const struct tracee *tracee);

#endif

#endif
