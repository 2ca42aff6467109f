/* SPDX-License-Identifier: MIT */
/*
 * end: records how the process ended, in the header of its log and as an event.
 *
 * Threads: any, outside of recording. Async-signal-safe. On failure the log has no end.
 */
#ifndef MTRACE_COLLECTOR_END_H
#define MTRACE_COLLECTOR_END_H

#include "lib/abi/log_format.h"

/* Requests a heap image if --heap-image=exit was given; frame: SELF_REPORT_FRAME. Call it before
 * end_write. */
void end_take_image(uintptr_t frame);

/* Just before the process ends in this way. Does nothing in a vfork child. */
void end_write(enum log_end kind, int value);

/* Ends the recording while the process continues. Events that other threads are writing are
 * lost. */
void end_recording(void);

/* Takes back end_write: the process did not end. */
void end_take_back(void);

/* Just before an exec of this process. Behind a seccomp filter, which hides whether this is a vfork
 * child, the next event of the thread takes it back. */
void end_by_exec(void);

/* The exec that end_by_exec announced has failed. */
void end_exec_failed(void);

#endif
