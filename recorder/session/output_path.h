/* SPDX-License-Identifier: MIT */
/*
 * log_place: what is there already under the name of a recording, and how the files of an attachment come there.
 *
 * Model:   an attachment is known to succeed only once the process has the log. So where something may be replaced its files are made under another name
 *          (output_path_beside), and take the place of what is there when the process has attached (output_path_take). Until then a refusal, or a
 *          kill, has changed nothing.
 * Threads: one. Failure: one line.
 */
#ifndef MTRACE_RECORDER_OUTPUT_PATH_H
#define MTRACE_RECORDER_OUTPUT_PATH_H

#include "lib/base/error.h"
#include "recorder/session/recording.h"

/* Fails where a process writes the log of this name, or its live log, though nobody may record it any more. */
int output_path_check(const char *path, struct error *err);

/* The name beside it, owned by the caller, under which something can be made that replaces it later. Fails where it cannot be replaced. */
int output_path_beside(const char *path, char **ret_beside, struct error *err);

/* The files of the recording take the place of what has the name `path`. */
int output_path_take(struct recording *recording, const char *path, struct error *err);

#endif
