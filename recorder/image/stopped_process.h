/* SPDX-License-Identifier: MIT */
/*
 * stopped_process: another process whose threads all stand still for a moment.
 *
 * They are seized and interrupted one by one until no new thread appears, and released as if
 * nothing had happened. The kernel releases them, too, when the tracing thread or the recorder
 * ends. While a thread is seized, no other thread of the recorder may wait for children: it would
 * take the reports of the stops.
 *
 * Threads: the tracing thread. Only x86-64 is supported.
 */
#ifndef MTRACE_RECORDER_STOPPED_PROCESS_H
#define MTRACE_RECORDER_STOPPED_PROCESS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    STOPPED_PROCESS_REGISTERS = 27 /* of struct user_regs_struct, the general ones among them */
};

struct stopped_thread {
    pid_t tid;
    int signal; /* that arrived before the stop, and is delivered at the release; 0: none */
    bool is_stopped;
    bool has_ended;
    uint64_t registers[STOPPED_PROCESS_REGISTERS];
    uint64_t sp, thread_pointer;
};

struct stopped_process {
    pid_t pid;
    struct stopped_thread *threads;
    size_t n_threads;
    size_t capacity; /* private */
};

/* Release with stopped_process_let_go, also after a failure. until_ns: CLOCK_MONOTONIC. */
int stopped_process_stop(pid_t pid, uint64_t until_ns, struct stopped_process *ret_process,
                         struct error *err);

void stopped_process_let_go(struct stopped_process *process);

#endif
