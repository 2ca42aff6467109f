/* SPDX-License-Identifier: MIT */
/*
 * forbidden: why the kernel lets us do nothing to a process, and what to do about it.
 *
 * Threads: any. Failure: none.
 */
#ifndef MTRACE_RECORDER_FORBIDDEN_H
#define MTRACE_RECORDER_FORBIDDEN_H

#include "lib/base/error.h"

#include <sys/types.h>

/* what: "traced", "looked at". Root without CAP_SYS_PTRACE, as in most containers, is told of that. */
int forbidden_report(pid_t pid, const char *what, struct error *err);

#endif
