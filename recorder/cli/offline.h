/* SPDX-License-Identifier: MIT */
/*
 * offline: mtrace-record --pack: makes one packed log of what a recording left behind.
 *
 * Model:   the input is a raw log (bare LD_PRELOAD), or a packed one whose recorder was stopped,
 *          with its live log beside it; the name of either will do. Everything readable goes into a
 *          new file, which then replaces the input or becomes --output. Without --output the same is done
 *          with the other logs of its run (successor_logs.h) that are not packed.
 * Invariants
 *   OF-1 The input is untouched until the new file is whole; then it is replaced by one rename,
 *        and only after that the live log is deleted.
 *   OF-2 What is written or packed by somebody stays as it is. Where that cannot be known it does, too, unless --force says that nobody does: this is
 *        said then.
 */
#ifndef MTRACE_RECORDER_OFFLINE_H
#define MTRACE_RECORDER_OFFLINE_H

#include "lib/base/error.h"
#include "recorder/session/options.h"

/* Packs options->input and says what came of it. Of the other logs one that is still written is told of, and is no failure. */
int offline_pack(const struct options *options, struct error *err);

#endif
