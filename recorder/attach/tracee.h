/* SPDX-License-Identifier: MIT */
/*
 * tracee: a thread of another process that is stopped for a moment.
 *
 * It is seized, interrupted, and released as if nothing had happened: an interrupted system call is
 * restarted, and a signal that arrived first is delivered.
 *
 * Threads: the tracing thread. Errors: a thread that cannot be stopped runs on; one that was
 * interrupted and cannot be released is released when the tracing thread ends.
 */
#ifndef MTRACE_RECORDER_TRACEE_H
#define MTRACE_RECORDER_TRACEE_H

#include "lib/base/error.h"
#include "recorder/attach/target.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#if defined(__x86_64__)

#    include <sys/user.h>

/* Time limit for a thread to stop. */
#    define TRACEE_STOP_NS 300000000u

struct tracee {
    const struct target *target;
    pid_t tid;
    int memory;                      /* /proc/PID/mem */
    struct user_regs_struct stopped; /* at the stop */
    struct user_regs_struct regs;    /* with which it would return by itself */
    uint64_t signals;                /* its own mask */
    uint64_t seen_ns;                /* last looked at without stopping it */
    uint64_t since_ns;               /* when it stopped, or shortly later */
    uint64_t saved_n;
    uint8_t saved[SCRATCH_CODE_BYTES];
    uint64_t frame; /* address of the struct call_stub_frame */
    uint64_t result;
    char text[512];
    bool has_reported;
    bool is_blocked;  /* its signals are blocked */
    bool is_given_up; /* a signal came first, and the thread is where it was */
    bool is_back;     /* it returned without waiting for us; signals are unblocked */
};

void tracee_nap(uint64_t ns);

/* Sleeps in proportion to the time waited so far: long waits are polled less often. */
void tracee_nap_since(uint64_t began_ns);

/* The next stop or end, as waitpid reports it; false: none until then. */
bool tracee_wait_until(struct tracee *tracee, uint64_t until_ns, int *ret_status);

bool tracee_get_regs(struct tracee *tracee, struct user_regs_struct *ret);
bool tracee_set_regs(struct tracee *tracee, struct user_regs_struct *regs);

/* Makes the kernel restart a system call that the stop has interrupted. */
void tracee_make_restartable(struct user_regs_struct *regs);

/* The thread waits in a call that does not restart exactly after a stop: its time limit begins
 * again, or it fails with EINTR. */
bool tracee_may_lose_time(pid_t pid, pid_t tid);

/* False: the thread has exited, does not stop, or was stopped by a signal, and runs on. err is set
 * only if no thread of the process can be traced. */
bool tracee_stop(struct tracee *tracee, struct error *err);

/* If the thread runs and cannot be stopped, it is released when the tracing thread ends. */
void tracee_let_go(struct tracee *tracee);

/* The thread is in a restartable sequence, which the kernel would abort after a redirection. */
bool tracee_is_in_rseq(const struct tracee *tracee);

/* The vector registers take more than CALL_STUB_VECTOR_BYTES. */
bool tracee_has_large_vectors(const struct tracee *tracee);

#endif

#endif
