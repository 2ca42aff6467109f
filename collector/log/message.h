/* SPDX-License-Identifier: MIT */
/*
 * message: diagnostics of the collector.
 *
 * Each is one line to MTRACE_LOGFILE or stderr, if MTRACE_LOG asks for its level. It is also
 * written into the log (LOG_DEF_MESSAGE), if there is one.
 *
 * Invariants
 *   MS-1 A process writes at most MESSAGE_MOST lines.
 *   MS-2 No descriptor is held between lines.
 *
 * Threads: any. Async-signal-safe. On failure a line is lost.
 */
#ifndef MTRACE_COLLECTOR_MESSAGE_H
#define MTRACE_COLLECTOR_MESSAGE_H

#include "collector/os/config.h"

#include <stdint.h>

enum {
    MESSAGE_MOST = 16
};

void message_init(const struct config *config);

/* Writes "mtrace: <what><path>". path may be NULL. error < 0: a negative errno, which is added as a
 * number. */
void message(enum config_level level, const char *what, const char *path, long error);

#endif
