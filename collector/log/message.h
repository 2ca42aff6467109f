/* SPDX-License-Identifier: MIT */
/*
 * message: diagnostics of the collector: one line each to MTRACE_LOGFILE or stderr when MTRACE_LOG
 * asks for the level, and into the log itself (LOG_DEF_MESSAGE) as soon as there is one.
 *
 * Invariants: MS-1 at most MESSAGE_MOST lines a process; MS-2 no descriptor is held between lines.
 * Threads: any. Signals: safe. Failure: a line is lost.
 */
#ifndef MTRACE_COLLECTOR_MESSAGE_H
#define MTRACE_COLLECTOR_MESSAGE_H

#include "collector/os/config.h"

#include <stdint.h>

enum {
    MESSAGE_MOST = 16
};

void message_init(const struct config *config);

/* "mtrace: <what><path><why>", where why may be NULL; error < 0 adds the errno's number. */
void message(enum config_level level, const char *what, const char *path, long error);

#endif
