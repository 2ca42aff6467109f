/* SPDX-License-Identifier: MIT */
/*
 * output_path: checks what exists under the name of a recording, and moves the files of an
 * attachment there.
 *
 * An attachment succeeds only once the process has mapped the log. If a file may be replaced, the
 * new files are created under another name (output_path_beside) and renamed when the process has
 * attached (output_path_take). Until then a refusal or a kill changes nothing.
 *
 * Threads: one. Errors: one line.
 */
#ifndef MTRACE_RECORDER_OUTPUT_PATH_H
#define MTRACE_RECORDER_OUTPUT_PATH_H

#include "lib/base/error.h"
#include "recorder/session/recording.h"

#include <stdbool.h>

/* Fails if a process still writes the log of this name or its live log, even without a recorder. */
int output_path_check(const char *path, struct error *err);

/* A name beside `path`, owned by the caller, for a file that will replace it. Fails if `path`
 * cannot be replaced. */
int output_path_beside(const char *path, char **ret_beside, struct error *err);

/* `path` is a recording that nothing writes any more, and all of it is packed. */
bool output_path_is_finished(const char *path);

/* Renames such a recording and what belongs to it to `path`.old. Replaces an earlier recording of
 * that name, and fails if it is another kind of file. */
int output_path_keep(const char *path, struct error *err);

/* Renames the recording's files to `path`, replacing what is there. */
int output_path_take(struct recording *recording, const char *path, struct error *err);

#endif
