/* SPDX-License-Identifier: MIT */
/*
 * definition: writes struct log_def records into DEFS segments.
 *
 * Invariants
 *   DE-1 A record is committed when its function returns true; only then may its id be used in an
 *        event.
 * Threads: any. Signals: safe, also nested. Failure: false.
 */
#ifndef MTRACE_COLLECTOR_DEFINITION_H
#define MTRACE_COLLECTOR_DEFINITION_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fixed part (kind, id, extra, a, b, c; ticks are set here if 0), then two texts joined. */
bool definition_write(const struct log_def *def, const void *text, size_t text_bytes,
                      const void *more, size_t more_bytes);

bool definition_text(enum log_def_kind kind, uint32_t id, const char *text, size_t text_bytes);

/* In a fork child. */
void definition_forget(void);

#endif
