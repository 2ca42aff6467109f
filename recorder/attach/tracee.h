/* SPDX-License-Identifier: MIT */
/*
 * tracee: a thread of another process, stopped for a moment.
 *
 * Model:   it is seized and interrupted, and let go as if it had not been: a system call that the stop ended is begun anew, and a signal that came
 *          first is the thread's.
 * Threads: the one that traces. Failure: what cannot be stopped goes on; what was asked and cannot be let go is let go when the tracing thread ends.
 */
#ifndef MTRACE_RECORDER_TRACEE_H
#define MTRACE_RECORDER_TRACEE_H

#include "lib/base/error.h"
#include "recorder/attach/target.h"
#include "recorder/attach/urgency.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#if defined(__x86_64__)

#    include <sys/user.h>

/* Until a thread stops. */
#    define TRACEE_STOP_NS 300000000u

struct tracee {
    const struct target *target;
    pid_t tid;
    int memory;                      /* /proc/PID/mem */
    struct user_regs_struct stopped; /* as it was */
    struct user_regs_struct regs;    /* with which it comes back by itself */
    uint64_t signals;                /* that it blocks itself */
    uint64_t seen_ns;                /* it was looked at last, and not stopped */
    uint64_t since_ns;               /* it is stopped, or shortly later */
    struct urgency urgency;          /* ours, while it is stopped */
    struct urgency_before before;    /* its own */
    uint64_t lifted_until_ns;        /* 0: it is what it was */
    uint64_t saved_n;
    uint8_t saved[SCRATCH_CODE_BYTES];
    uint64_t frame; /* of call_stub.h: where it is */
    uint64_t result;
    char text[512];
    bool has_reported;
    bool is_blocked;  /* its signals are */
    bool is_given_up; /* a signal came before, and it is where it was */
    bool is_back;     /* it did not wait for us, and has them */
};

void tracee_nap(uint64_t ns);

/* A part of the time that is waited already: what takes long is looked for more rarely. */
void tracee_nap_since(uint64_t began_ns);

/* Its next stop or end, as waitpid says; false: none by then. */
bool tracee_wait_until(struct tracee *tracee, uint64_t until_ns, int *ret_status);

bool tracee_get_regs(struct tracee *tracee, struct user_regs_struct *ret);
bool tracee_set_regs(struct tracee *tracee, struct user_regs_struct *regs);

/* A system call that a stop ended is one that the kernel begins anew. */
void tracee_mend_end(struct user_regs_struct *regs);

/* It has its own policy again. */
void tracee_lower(struct tracee *tracee);

/* Until it is let go we are urgent. False: it is gone, or does not stop, or was stopped by somebody's signal, and goes on. err is set only where no thread of the process can be traced. */
bool tracee_stop(struct tracee *tracee, struct error *err);

/* Where it runs, and cannot be stopped, it is left when the tracing thread ends. */
void tracee_let_go(struct tracee *tracee);

/* In a sequence that the kernel would abort if it knew where the thread goes. */
bool tracee_is_in_rseq(const struct tracee *tracee);

/* Its vector registers take more than CALL_STUB_VECTOR_BYTES. */
bool tracee_has_large_vectors(const struct tracee *tracee);

#endif

#endif
