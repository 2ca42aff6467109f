/* SPDX-License-Identifier: MIT */
/*
 * thread_status: what /proc/PID/task/TID/status says of a thread. That of a process is that of its first thread.
 *
 * Threads: any. Failure: false: the thread is gone, or may not be asked about.
 */
#ifndef MTRACE_LIB_THREAD_STATUS_H
#define MTRACE_LIB_THREAD_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

struct thread_status {
    char state; /* 'T': a signal stopped it */
    int tracer; /* 0: nobody */
    uid_t uid;  /* the effective one, now */
    unsigned seccomp, n_filters;
    bool has_shadow_stack;
};

bool thread_status_read(pid_t pid, pid_t tid, struct thread_status *ret_status);

/* Behind a seccomp filter that the caller is not behind: filters are a thread's own, and how many there are is all that can be seen of them. */
bool thread_status_is_filtered(const struct thread_status *status);

#endif
