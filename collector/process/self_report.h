/* SPDX-License-Identifier: MIT */
/*
 * inquiry: the program asks its recorder about itself, and waits for the answer.
 *
 * Model:   a marker in the log is the instant of the answer; number and words are put into the header page of the log
 *          (struct log_question of log_format.h), which the recorder looks at. The answer is in a file of the
 *          recorder's, opened and closed here; who may not open it gets it in parts through the header page.
 *          Who asks wakes the recorder (request_wakeup.h).
 *          The answer is waited for in the kernel, as is a turn: the recorder wakes who waits, who looks ten times a second whether there is one, and
 *          who gives a turn up wakes who is next.
 * Invariants
 *   IQ-1 One thread asks at a time; no other thread waits for anything but its turn to ask.
 *   IQ-2 The recorder hears of a question when all that was stamped before its marker is committed, as far as
 *        in_flight.h goes: the answer is what the finished recording says about that instant.
 *   IQ-3 The turn of who will not go on is taken: of a thread that is gone, that asks again no deeper on its stack than
 *        where it asked (longjmp), or that for three seconds neither puts its question nor reads the answer
 *        (whose question is then ECANCELED).
 *   IQ-4 The turn is given up before the answer is written to fd, which may block; but for one in parts.
 *   IQ-5 The recorder is there as long as the beat of the header page changes, whatever its pid says.
 *   IQ-6 Threads have their turns in the order in which they came, but for those that were not there in time for theirs.
 *   IQ-7 The log is looked at with signals blocked only, and not without a new look at whose it is behind a sleep: the child of
 *        a handler that forks meanwhile gets ECANCELED. Who is left by siglongjmp while it writes leaves no descriptor, and a
 *        mapping until its thread asks again.
 * Threads: any. Signals: EDEADLK in a handler that interrupts the thread that asks. Failure: an errno value.
 */
#ifndef MTRACE_COLLECTOR_SELF_REPORT_H
#define MTRACE_COLLECTOR_SELF_REPORT_H

/* Writes the answer to fd; 0, or why there is none. */
int self_report_ask(const char *text, int fd);

#endif
