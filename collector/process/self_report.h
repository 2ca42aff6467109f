/* SPDX-License-Identifier: MIT */
/*
 * self_report: asks the recorder for a report about this process, and waits for the reply.
 *
 * A marker in the log defines the time of the report. The number and the words of the request are
 * in the header page of the log (struct log_request of log_format.h). The recorder writes the
 * reply to a file, which is opened and closed here. A process that cannot open it gets the reply in
 * parts through the header page. Requests wake the recorder (request_wakeup.h).
 *
 * A thread waits for the reply, or for the request slot, in the kernel (futex). The recorder wakes
 * the thread that waits for a reply; a thread that releases the slot wakes the next one. Ten times
 * a second the waiting thread checks that the recorder is alive.
 *
 * Invariants
 *   IQ-1 One thread at a time has the request slot. Other threads wait only for the slot.
 *   IQ-2 The recorder receives a request after all events stamped before its marker are committed,
 *        as far as in_flight.h guarantees. So the reply equals what the finished recording says of
 *        that time.
 *   IQ-3 The slot is taken away from a thread that is gone, or that left its request by longjmp: it
 *        requests again no deeper on its stack. The same holds if for three seconds a thread
 *        neither sends its request nor reads the reply; the request then returns ECANCELED.
 *   IQ-4 The slot is released before the reply is written to fd, which may block. A reply in parts
 *        is written before.
 *   IQ-5 The recorder is alive as long as its heartbeat advances, whatever its PID says.
 *   IQ-6 Threads get the slot in the order of their arrival, except those that were not ready in
 *        time.
 *   IQ-7 The log is accessed only with signals blocked, and after each sleep only if it still
 *        belongs to this process: the child of a handler that forked gets ECANCELED. A siglongjmp
 *        during the write leaks no descriptor, and a mapping only until the thread's next request.
 *
 * Threads: any. In a signal handler that interrupted a request of the same thread: EDEADLK. On
 * failure an errno value.
 */
#ifndef MTRACE_COLLECTOR_SELF_REPORT_H
#define MTRACE_COLLECTOR_SELF_REPORT_H

/* Sends the request `text` and writes the reply to fd. Returns 0 or an errno value. */
int self_report_ask(const char *text, int fd);

#endif
