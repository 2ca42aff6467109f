/* SPDX-License-Identifier: MIT */
/*
 * sender: sends the logs of one run to an mtrace-gather (remote/wire/wire.h), while they grow or
 * afterwards.
 *
 * It only reads files, so the recorder never waits for a network. A lost connection is restored
 * after growing pauses; the receiver says how much it has, and sending continues there. At most
 * SENT_LOGS_AT_ONCE logs are sent at a time, others follow when one has ended. A pipe reports the
 * end of the recording: the byte SENDER_PROCESS_FINISHED means that all files are complete, EOF
 * alone that the recorder died.
 *
 * Invariants
 *   SN-1 Files are only read; with --no-local rotated files (log_tail.h) are removed when the
 *        receiver has them on its disk, and finished logs at the end.
 *   SN-2 A log counts as sent when the receiver reported all of it as synced to its disk.
 *   SN-3 It ends timeout_ns after the recording; without a recording, when nothing was acknowledged
 *        for that long. A slow peer does not extend this.
 *   SN-4 While the program runs, at most two lines a minute report lost and restored connections.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_SENDER_H
#define MTRACE_REMOTE_SENDER_H

#include <stdbool.h>

struct sender_settings;

/* Sends until everything is sent, or gives up: false, after a message. */
bool sender_run(const struct sender_settings *settings);

#endif
