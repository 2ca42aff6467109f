/* SPDX-License-Identifier: MIT */
/*
 * forbidden: explains why the kernel denies access to a process (ptrace denial), and the remedy.
 *
 * Threads: any.
 */
#ifndef MTRACE_RECORDER_FORBIDDEN_H
#define MTRACE_RECORDER_FORBIDDEN_H

#include "lib/base/error.h"

#include <sys/types.h>

/* Fills err. what: "traced", "looked at". Mentions a missing CAP_SYS_PTRACE to root, as in most
 * containers. */
int forbidden_report(pid_t pid, const char *what, struct error *err);

#endif
