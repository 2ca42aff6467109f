/* SPDX-License-Identifier: MIT */
/*
 * sender: the logs of one run, sent to an mtrace-gather (remote/wire/wire.h), while they grow or afterwards.
 *
 * Model:   the files are read, as anybody could, so the recorder never waits for a network. A connection that is lost is made again,
 *          in growing pauses; the receiver says how much it has, and what comes behind that is sent. At most SENT_LOGS_AT_ONCE logs
 *          are under way at a time, the others have their turn when one has ended.
 *          The end of the recording is told on a pipe: the byte SENDER_PROCESS_FINISHED when all files are whole, its end alone when the recorder died.
 * Invariants
 *   SN-1 A file is only read; with --no-local its space is given back (hole_punching.h), and nothing else of it is changed.
 *   SN-2 A log counts as sent when the receiver said that it has all of it on the disk.
 *   SN-3 After the end of the recording it takes at most timeout_ns; sending without a recording gives up when nothing was acknowledged
 *        for that long. No other side, however slowly it speaks, makes it longer.
 *   SN-4 While the program runs at most two lines a minute say that the connection was lost and made again.
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_SENDER_H
#define MTRACE_REMOTE_SENDER_H

#include <stdbool.h>

struct sender_settings;

/* Sends until all is sent, or it gives up: false; it has said why then. */
bool sender_run(const struct sender_settings *settings);

#endif
