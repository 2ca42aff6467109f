/* SPDX-License-Identifier: MIT */
/*
 * self_report: asks the recorder for a report about this process, and waits for the answer.
 *
 * The request goes over the recorder's control socket (log_format.h describes the protocol at
 * LOG_CONTROL_NAME). The recorder queues requests; a marker in the log defines the time of the
 * report. The answer is a file, whose descriptor comes with the reply.
 *
 * Invariants
 *   IQ-1 The recorder gets the words after all events stamped before the marker are committed, as
 *        far as in_flight.h guarantees. So the answer equals what the finished recording says of
 *        that time.
 *   IQ-2 The log is accessed only with signals blocked, and after each wait only if it still
 *        belongs to this process: the child of a handler that forked gets ECANCELED.
 *   IQ-3 A thread has one request at a time. A descriptor that it left by longjmp is closed by its
 *        next request, and stays open if the thread makes none.
 *   IQ-4 A recorder whose heartbeat stands still for 10 s is considered stopped.
 *
 * Threads: any. In a signal handler that interrupted a request of the same thread: EDEADLK. On
 * failure an errno value. One descriptor is open during the call, two for a moment.
 */
#ifndef MTRACE_COLLECTOR_SELF_REPORT_H
#define MTRACE_COLLECTOR_SELF_REPORT_H

#include <stdint.h>

/* Sends the request `text` and writes the answer to fd. Returns 0 or an errno value. */
int self_report_ask(const char *text, int fd);

/* For a function that the program calls: puts the registers that its callers keep values in on the
 * stack, and returns the lowest address of them. What the collector has below holds no blocks. */
#define SELF_REPORT_FRAME()   \
    (__builtin_unwind_init(), \
     (uintptr_t)__builtin_frame_address(0) - SELF_REPORT_SAVED_REGISTERS * sizeof(uintptr_t))

enum {
    SELF_REPORT_SAVED_REGISTERS = 5 /* of x86-64, below the frame pointer */
};

/* Requests a heap image; cause: "exit" or "program", frame: SELF_REPORT_FRAME. EIO: the recorder
 * has printed the reason. */
int self_report_heap_image(const char *cause, const char *name, uintptr_t frame);

#endif
