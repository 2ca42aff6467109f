/* SPDX-License-Identifier: MIT */
/*
 * session: runs the program and packs its log (and its children's) until it has ended.
 *
 * One loop sleeps in sigtimedwait: 1 ms while segments arrive, up to 20 ms otherwise (100 ms if
 * only samples are recorded and nothing else is due). Signals, clients of --ctl, the end of the
 * program, and requests of the program wake it immediately. The terminal sends SIGINT and SIGQUIT
 * to the program as well; SIGTERM, SIGHUP and signals sent only to mtrace-record are forwarded.
 *
 * Invariants
 *   SE-1 A session that started the program ends after it. One that attached may detach earlier.
 *        After SIGKILL of the recorder the program writes on into its live log, up to --max-live.
 *
 * Errors: before the program ran, an error; afterwards the exit status is the program's, and
 * messages are on stderr.
 */
#ifndef MTRACE_RECORDER_SESSION_H
#define MTRACE_RECORDER_SESSION_H

#include "lib/base/error.h"
#include "recorder/session/options.h"

/* Records; *ret_status is the exit status of the program, 128+N for signal N. */
int session_run(const struct options *options, int *ret_status, struct error *err);

#endif
