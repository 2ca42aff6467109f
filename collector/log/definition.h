/* SPDX-License-Identifier: MIT */
/*
 * definition: writes struct log_def records into DEFS segments.
 *
 * Invariants
 *   DE-1 A record is committed when its function returns true. Only then may an event use its id.
 *
 * Threads: any. Async-signal-safe and reentrant. Returns false on failure.
 */
#ifndef MTRACE_COLLECTOR_DEFINITION_H
#define MTRACE_COLLECTOR_DEFINITION_H

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

#endif
