/* SPDX-License-Identifier: MIT */
/*
 * pack_command: mtrace-record --pack: makes one packed log from the files of a recording.
 *
 * The input is a raw log (LD_PRELOAD without mtrace-record), or a packed one whose recorder was
 * killed, with its live log beside it; either name is accepted. All readable data goes into a new
 * file, which replaces the input or becomes --output. Without --output the other unpacked logs of
 * the run (successor_logs.h) are packed, too.
 *
 * Invariants
 *   OF-1 The input is unchanged until the new file is complete; then one rename replaces it, and
 *        after that the live log is deleted.
 *   OF-2 A log with a live writer or recorder is refused. If that is unknown, only --force packs
 *        it.
 *
 * Notes: A message reports the unknown case.
 */
#ifndef MTRACE_RECORDER_PACK_COMMAND_H
#define MTRACE_RECORDER_PACK_COMMAND_H

#include "lib/base/error.h"
#include "recorder/session/options.h"

/* Packs options->input and prints the result. Another log of the run that is still being written is
 * reported, but is not a failure. */
int pack_command_run(const struct options *options, struct error *err);

#endif
