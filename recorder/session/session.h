/* SPDX-License-Identifier: MIT */
/*
 * session: runs the program and packs its log (and its children's) until it has ended.
 *
 * Model:   one loop. It sleeps in sigtimedwait, 1 ms while segments come, up to 20 ms when none do (100 ms where blocks are samples
 *          and nothing else is to be looked after), so a signal, a client of --ctl, a question of the program behind its first one (where a bell can be had) and the end of the program wake it at once. SIGINT and SIGQUIT come from the
 *          terminal to the program as well; TERM, HUP and those sent to us alone are handed on.
 * Invariants
 *   SE-1 The session ends only after the program: no signal but SIGKILL ends it earlier.
 * Failure: before the program ran, an error; afterwards the exit status is the program's and what
 *          went wrong is said on stderr.
 */
#ifndef MTRACE_RECORDER_SESSION_H
#define MTRACE_RECORDER_SESSION_H

#include "lib/base/error.h"
#include "recorder/session/options.h"

/* Records; *ret_status is the exit status of the program, 128+N for signal N. */
int session_run(const struct options *options, int *ret_status, struct error *err);

#endif
