/* SPDX-License-Identifier: MIT */
/*
 * definition: writes struct log_def records into DEFS segments, and the messages of the collector.
 *
 * A message is one line to MTRACE_LOGFILE or stderr, if MTRACE_LOG asks for its level. It is also
 * a definition of the log (LOG_DEF_MESSAGE), if there is one.
 *
 * Invariants
 *   DE-1 A record is committed when its function returns true. Only then may an event use its id.
 *   MS-1 A process writes at most MESSAGE_MAX lines.
 *   MS-2 No descriptor is held between lines.
 *
 * Threads: any. Async-signal-safe; definition_* are reentrant. On failure these return false, and a
 * line of a message is lost.
 */
#ifndef MTRACE_COLLECTOR_DEFINITION_H
#define MTRACE_COLLECTOR_DEFINITION_H

#include "collector/os/config.h"
#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the fixed part (kind, id, extra, a, b, c, and ticks; ticks 0: now), then two texts
 * joined. */
bool definition_write(const struct log_def *def, const void *text, size_t text_bytes,
                      const void *more, size_t more_bytes);

bool definition_text(enum log_def_kind kind, uint32_t id, const char *text, size_t text_bytes);

/* In a fork child: forgets the segment. */
void definition_forget(void);

/* ---- messages ---- */

enum {
    MESSAGE_MAX = 16
};

void message_init(const struct config *config);

/* Writes "mtrace: <what><path>". path may be NULL. error < 0: a negative errno, which is added as a
 * number. */
void message(enum config_level level, const char *what, const char *path, long error);

#endif
