/* SPDX-License-Identifier: MIT */
/*
 * control_handler: executes requests of --ctl, and begins and ends windows that are due, for the
 * recorded processes and reports.
 *
 * A command goes to every process concerned that is recorded now. New processes inherit the window
 * state from their parent. A process that began before its parent had handled the last command gets
 * the command itself.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_CONTROL_HANDLER_H
#define MTRACE_RECORDER_CONTROL_HANDLER_H

#include "recorder/session/children.h"
#include "recorder/session/control_server.h"
#include "recorder/session/own_windows.h"
#include "recorder/session/periodic_reports.h"
#include "recorder/session/recording.h"

#include <stdint.h>
#include <sys/types.h>

struct control_handler {
    struct recording *recording; /* of the first image; NULL: finished */
    struct children *children;
    struct periodic_reports *reports;
    const char *log_path;
    pid_t program_pid;
    unsigned n_snapshots;
    struct command last_command; /* to all; also for processes that began before it was handled */
    uint64_t last_until_ns;      /* while such processes may appear */
    uint32_t n_commands;         /* window commands of clients */
    bool has_ended;              /* the program has; its children may still run */
    bool is_attached;            /* it ran before */
    bool must_leave;             /* a client requests to detach */
    uint32_t n_unheard;          /* processes that have not noticed the detaching yet */
    const char *leave_error;     /* of detaching; NULL: none so far */
};

/* The callbacks for control_server_step; valid as long as the handler. */
struct control_target control_handler_target(struct control_handler *handler);

/* Begins and ends windows that are due. */
void control_handler_step(struct control_handler *handler, struct own_windows *windows,
                          uint64_t now_ns);

#endif
