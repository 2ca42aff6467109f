/* SPDX-License-Identifier: MIT */
/*
 * end: how the process ended, in the header of its log and as an event.
 *
 * Threads: any, outside of recording. Signals: safe. Failure: the log ends without a word.
 */
#ifndef MTRACE_COLLECTOR_END_H
#define MTRACE_COLLECTOR_END_H

#include "lib/abi/log_format.h"

/* Just before it ends in this way. Nothing in a child that shares our memory. */
void end_write(enum log_end kind, int value);

/* The process goes on, and records nothing from here on. What other threads are in the midst of goes nowhere. */
void end_recording(void);

/* It was not the end after all. */
void end_take_back(void);

/* Just before an exec of this process; of a vfork child only where it cannot be told from it, and then
 * the next event of the thread takes it back. */
void end_by_exec(void);

/* The exec that end_by_exec announced has failed. */
void end_exec_failed(void);

#endif
