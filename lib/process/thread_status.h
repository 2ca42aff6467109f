/* SPDX-License-Identifier: MIT */
/*
 * thread_status: the contents of /proc/PID/task/TID/status. Those of a process are those of its
 * first thread.
 *
 * Any thread. False: the thread is dead, or access is denied.
 */
#ifndef MTRACE_LIB_THREAD_STATUS_H
#define MTRACE_LIB_THREAD_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

struct thread_status {
    char state; /* 'T': a signal stopped it */
    int tracer; /* 0: none */
    uid_t uid;  /* effective, current */
    unsigned seccomp, n_filters;
    bool has_shadow_stack;
};

bool thread_status_read(pid_t pid, pid_t tid, struct thread_status *ret_status);

/* The thread has a seccomp filter that the caller has not. Filters belong to a thread, and only
 * their number is visible. */
bool thread_status_is_filtered(const struct thread_status *status);

#endif
