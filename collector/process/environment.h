/* SPDX-License-Identifier: MIT */
/*
 * environment: gives the program its user's environment, and its execs our settings.
 *
 * Without --follow-children our entry of LD_PRELOAD, our private variables and the option that
 * mtrace-record adds to ASAN_OPTIONS are removed. `environ` becomes a new array; if a constructor
 * has replaced it already, it is changed in place. The array of main's third argument keeps its
 * length, because some programs look for the auxiliary vector after it: copies of its neighbours
 * replace removed entries.
 *
 * An exec of the recorded process continues the recording: its wrappers add again what was removed.
 * With --follow-children the wrappers also do this for execs of children. They also restore
 * settings that the program removed from `environ`: `env -i` does not end a recording.
 *
 * Invariants
 *   EN-1 LD_PRELOAD gets the value that it had before ours was put in front: "ours" -> unset,
 *        "ours:" -> empty, "ours:a" -> "a".
 *   EN-2 All other variables stay, in their order.
 *
 * Failure: the environment stays as it is.
 */
#ifndef MTRACE_COLLECTOR_ENVIRONMENT_H
#define MTRACE_COLLECTOR_ENVIRONMENT_H

#include "collector/os/fmt.h"

#include <stdbool.h>
#include <stddef.h>

/* Once, from the constructor. `initial`: the array that the kernel made. */
void environment_restore(char **initial);

/* Once, from the constructor, with --follow-children: keeps the settings for execs, in case the
 * program empties its environment. `initial`: the array that the kernel made. */
void environment_keep_all(char *const *initial);

/* In a program that was attached to: keeps the settings ("MTRACE_RECORDER=…") for its execs. False:
 * they are too long, and execs are not recorded. */
bool environment_keep(const char *settings);

/* With --follow-children: puts MTRACE_PARENT into `environ`, so that programs which libc starts
 * itself (system, popen) know their parent. environment_update sets its new value in a fork
 * child. */
void environment_announce(void);
void environment_update(void);

/* Stores whether a window is open, for execs. */
void environment_note_tracing(bool is_on);
/* From now on execs begin no log. */
void environment_note_left(void);

/* Appends LD_PRELOAD's value without our entry. False: nothing is left of it, so it must be
 * unset. */
bool environment_without_us(const char *preload, struct fmt *out);

/* For an exec: an array like `wanted` whose program will be recorded, too, with this library
 * (exec_target.h). library NULL: the array contains nothing of ours. Returns `wanted` itself if it
 * cannot be read or there is no memory. Valid until the next call of the calling thread. */
char *const *environment_for_exec(char *const *wanted, const char *library);

/* After environment_note_left: an array like `wanted` in which a copied MTRACE_PARENT also says
 * that this process left. Otherwise as environment_for_exec. */
char *const *environment_once_left(char *const *wanted);

#endif
