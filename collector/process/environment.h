/* SPDX-License-Identifier: MIT */
/*
 * environment: the program sees the environment its user gave it.
 *
 * Model:   without following children, our entry of LD_PRELOAD, our private variables and what
 *          mtrace-record adds to ASAN_OPTIONS go: from `environ`, which becomes a new array or, where
 *          a constructor has made it one already, is changed in place; and from the array that
 *          main's third argument shows. That one keeps its length, because some programs look for the auxiliary vector
 *          behind it: removed entries are replaced by copies of their neighbours.
 *          An exec of the recorded process goes on with the same recording: its wrappers add again
 *          what was taken out. With following, those of children do, too, and of what is in `environ` also
 *          what the program took out of it itself: `env -i` is no end of a recording.
 * Invariants: EN-1 LD_PRELOAD is what it was before ours was put in front: "ours" -> unset,
 *             "ours:" -> empty, "ours:a" -> "a". EN-2 all other variables stay, in their order.
 * Failure: the environment stays as it is.
 */
#ifndef MTRACE_COLLECTOR_ENVIRONMENT_H
#define MTRACE_COLLECTOR_ENVIRONMENT_H

#include "collector/os/fmt.h"

#include <stdbool.h>
#include <stddef.h>

/* Once, from the constructor. `initial`: the kernel's array. */
void environment_restore(char **initial);

/* Once, from the constructor, with following children: what their execs are given even where the program has emptied its environment. `initial`: the kernel's array. */
void environment_keep_all(char *const *initial);

/* In a program that ran already, for its execs: what mtrace-record asks for, "MTRACE_RECORDER=…". False: it is too long, and they are not recorded. */
bool environment_keep(const char *settings);

/*
 * With following children: MTRACE_PARENT in `environ`, so that also programs which libc starts
 * itself (system, popen) know whose children they are; and its new value in a fork child.
 */
void environment_announce(void);
void environment_update(void);

/* And whether a window is open, for programs that are executed. */
void environment_note_tracing(bool is_on);
/* For good: what is executed from here on begins no log. */
void environment_note_left(void);

/* LD_PRELOAD's value without our entry into *out; false when nothing is left of it: unset. */
bool environment_without_us(const char *preload, struct fmt *out);

/*
 * For an exec: an array like `wanted` whose program will be recorded, too, by that library (exec_target.h). NULL: there is none for it, and
 * the array has nothing of ours. `wanted` itself when no memory is left, or when it cannot be read. Valid until the calling thread's next call.
 */
char *const *environment_for_exec(char *const *wanted, const char *library);

/* Where nobody is followed any more: what it says of us, be it in a copy made before, says that we are left. As environment_for_exec. */
char *const *environment_once_left(char *const *wanted);

#endif
