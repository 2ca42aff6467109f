/* SPDX-License-Identifier: MIT */
/*
 * sender_process: the process mtrace-send, from our side.
 *
 * Model:   started with the recording, told of its end on a pipe (sender.h), and started again when somebody kills it: what it knew, the
 *          receiver and the files know, too.
 * Invariants
 *   SP-1 While the program runs nobody waits for it. Afterwards it is waited for no longer than its timeout and SENDER_PROCESS_GRACE_NS.
 *   SP-2 What is not known to be sent at the end is said: by it, or by us when it was killed or is not there.
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_SENDER_PROCESS_H
#define MTRACE_REMOTE_SENDER_PROCESS_H

#include "lib/process/child_process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

enum {
    SENDER_PROCESS_WORDS = 24,
    SENDER_PROCESS_FINISHED = 'f', /* on the pipe */
};

#define SENDER_PROCESS_TIMEOUT_NS UINT64_C(30000000000)
#define SENDER_PROCESS_GRACE_NS   UINT64_C(7000000000)

/* Options that are handed on as they are. */
struct sending {
    const char *words[SENDER_PROCESS_WORDS];
    size_t n_words; /* 0: nothing is sent */
    uint64_t timeout_ns;
    bool is_quiet;
};

/* All zero: there is none. */
struct sender_process {
    struct child_process helper;
    const struct sending *sending;
    const char *program; /* mtrace-send; the caller's, as log_path */
    const char *log_path;
    int end; /* of the pipe, while it is open */
    bool is_open;
    bool
        has_given_up; /* it ended by itself, and has said why; while the program ran: it would again */
    uint64_t retry_ns; /* CLOCK_MONOTONIC */
    uint64_t due_ns;   /* when it must have ended; 0: the recording goes on */
};

/* Before the program is started: would it work? */
int sender_process_check(const char *program, const struct sending *sending, struct error *err);

void sender_process_start(struct sender_process *sender, const char *program,
                          const struct sending *sending, const char *log_path);

/* Now and then while the program runs. */
void sender_process_step(struct sender_process *sender, uint64_t now_ns);

/* Somebody who waits for any process got this one. */
void sender_process_note_end(struct sender_process *sender, pid_t pid);

/* The recording is over, and its files are whole, or what there is of them is all there will be. */
void sender_process_finish(struct sender_process *sender, bool is_whole, uint64_t now_ns);

/* True: it has ended; all is said. Until then it is called again, every some milliseconds. */
bool sender_process_has_ended(struct sender_process *sender, uint64_t now_ns);

/* Nobody waits any longer. */
void sender_process_leave(struct sender_process *sender);

/* There is nothing to send. */
void sender_process_abandon(struct sender_process *sender);

/* Takes the place of this process to send a log that exists; returns only if that fails. */
int sender_process_become(const char *program, const struct sending *sending, const char *log_path,
                          struct error *err);

#endif
