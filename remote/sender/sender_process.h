/* SPDX-License-Identifier: MIT */
/*
 * sender_process: the process mtrace-send, as its parent process sees it.
 *
 * It is started with the recording, learns of its end from a pipe (sender.h), and is restarted if
 * it was killed: the receiver and the files have all its state.
 *
 * Invariants
 *   SP-1 The recorder does not wait for it while the program runs, and afterwards at most its
 *        timeout plus SENDER_PROCESS_GRACE_NS.
 *   SP-2 Data not known to be sent at the end is reported: by the process, or by the recorder if it
 *        was killed or is missing.
 *
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

/* Options that are passed on unchanged. */
struct sending {
    const char *words[SENDER_PROCESS_WORDS];
    size_t n_words; /* 0: nothing is sent */
    uint64_t timeout_ns;
    bool is_quiet;
};

/* All zero: none. */
struct sender_process {
    struct child_process child;
    const struct sending *sending;
    const char *program; /* mtrace-send; the caller's, like log_path */
    const char *log_path;
    int end; /* of the pipe, while it is open */
    bool is_open;
    bool has_given_up; /* it ended by itself with a message, and would again */
    uint64_t retry_ns; /* CLOCK_MONOTONIC */
    uint64_t due_ns;   /* time limit for its end; 0: the recording goes on */
};

/* Checks that it would work. Call before the program is started. */
int sender_process_check(const char *program, const struct sending *sending, struct error *err);

void sender_process_start(struct sender_process *sender, const char *program,
                          const struct sending *sending, const char *log_path);

/* Call periodically while the program runs. */
void sender_process_step(struct sender_process *sender, uint64_t now_ns);

/* The caller reaped this process. */
void sender_process_note_end(struct sender_process *sender, pid_t pid);

/* The recording has ended. is_whole: its files are complete; else they will not grow any more. */
void sender_process_finish(struct sender_process *sender, bool is_whole, uint64_t now_ns);

/* True: it has ended and all messages are printed. Call again every few milliseconds until then. */
bool sender_process_has_ended(struct sender_process *sender, uint64_t now_ns);

/* The wait is aborted by the user. */
void sender_process_leave(struct sender_process *sender);

/* There is nothing to send. */
void sender_process_abandon(struct sender_process *sender);

/* Replaces this process by mtrace-send for an existing log; returns only on failure. */
int sender_process_become(const char *program, const struct sending *sending, const char *log_path,
                          struct error *err);

#endif
